-- Queues URIs that were never seen.
-- ARGV: most URIs of a key, most keys of a registered domain, most URIs of one (0: no
-- limit), fill, most URIs kept of those over these budgets, mode ('add'; 'look': nothing
-- is changed; 'take': what is kept may go in); then per key: key, length of its
-- domain and bucket of that (see `domain_of`), n, n x (fingerprint, item).
-- item: band digit + payload, or 'k' for a URI that is only to be marked as seen.
-- Returns one character per URI: 1 new, 0 seen before, F the key's budget is spent,
-- D its domain's is, R one of them, and it was kept for that before; W it would be new,
-- if that was only looked at, which a full server still does.
local most_of_key, most_keys, most_of_domain = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local fill, most_over, mode = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local only_looks, takes_up = mode == 'look', mode == 'take'
local has_budget = most_of_key > 0 or most_of_domain > 0
-- The first URI of a key stays with it, as a list of its own takes 200 bytes: with most
-- keys that is all they have. A longer one would unfold the hash.
local MOST_INLINE = 60
local MOST_OVER_OF_KEY = 10000 -- or of a domain, or one trap would leave others no room

-- The seen set is a linear hash table of intset-encoded SETs: 2^lv + sp buckets, and
-- the bucket is taken from the low bits of the fingerprint itself, so that a bucket
-- can be split. The last 15 digits decide modulo 2^15, as 10^15 is a multiple of it.
local state = redis.call('HMGET', T .. ':cnt', 'lv', 'sp', 'seen')
local level, split, seen = tonumber(state[1] or 0), tonumber(state[2] or 0), tonumber(state[3] or 0)
local base = 2 ^ level
local MAX_LEVEL = 15
local call, sub = redis.call, string.sub -- per URI, so kept at hand
local function low_bits(fingerprint) return tonumber(sub(fingerprint, -15)) end
local names, twice = {}, base * 2
local function bucket_of(fingerprint)
  local bits = low_bits(fingerprint)
  local b = bits % base
  if b < split then b = bits % twice end
  local name = names[b]
  if not name then
    name = T .. ':s:' .. string.format('%d', b)
    names[b] = name
  end
  return name
end

local function put(bucket, members)
  for i = 1, #members, 1000 do
    redis.call('SADD', bucket, unpack(members, i, math.min(i + 999, #members)))
  end
end

local function split_one()
  local old = T .. ':s:' .. string.format('%d', split)
  local new = T .. ':s:' .. string.format('%d', split + base)
  local stay, move = {}, {}
  for _, fingerprint in ipairs(redis.call('SMEMBERS', old)) do
    if low_bits(fingerprint) % (base * 2) == split then
      stay[#stay + 1] = fingerprint
    else
      move[#move + 1] = fingerprint
    end
  end
  redis.call('DEL', old)
  put(old, stay)
  put(new, move)
  split = split + 1
  if split == base then level, split, base = level + 1, 0, base * 2 end
end

local answer, fresh_total, known_total, new_hosts, now = {}, 0, 0, 0, nil

-- Returns the registered domain of a key and its bucket. `place` is length:bucket, with a
-- '-' before it if the key stands for its domain, and is not counted among its keys:
-- most do, and need not be told apart then.
local function domain_of(key, place)
  local length, bucket = string.match(place, '^-?(%d+):(%d+)$')
  return sub(key, -tonumber(length)), bucket
end

-- Keeps a URI over budget until the budget is raised, as far as there is room. What its
-- domain's budget refuses begins with 'd', and is counted there.
local function refuse(why, key, place, fingerprint, item)
  local over, field = T .. ':over', key .. ' ' .. fingerprint
  if call('HEXISTS', over, field) == 1 then return 'R' end
  local counts, counter = host_of(key), 'o'
  if why == 'D' then
    local domain, bucket = domain_of(key, place)
    counts, counter, item = counts_of(bucket), domain .. ' o', 'd' .. item
  end
  local n = tonumber(call('HGET', counts, counter) or 0)
  if n < MOST_OVER_OF_KEY and call('HLEN', over) < most_over then
    call('HSET', over, field, item)
    call('HINCRBY', counts, counter, 1)
  end
  return why
end

local function forget_over(key, place, fingerprint)
  local over, field = T .. ':over', key .. ' ' .. fingerprint
  local item = call('HGET', over, field)
  if not item then return end
  call('HDEL', over, field)
  if sub(item, 1, 1) == 'd' then
    local domain, bucket = domain_of(key, place)
    call('HINCRBY', counts_of(bucket), domain .. ' o', -1)
  else
    call('HINCRBY', host_of(key), 'o', -1)
  end
end

-- Returns how many URIs a key may have more, what refuses others, and how many keys its
-- domain has, if this is one more.
local function room_of(key, place, accepted, is_counted)
  local room, why, n_keys = math.huge, 'F', nil
  local domain, bucket = domain_of(key, place)
  if most_of_key > 0 then room = math.max(0, most_of_key - accepted) end
  if most_of_domain > 0 then
    local n = tonumber(call('HGET', counts_of(bucket), domain .. ' a') or 0)
    if most_of_domain - n < room then
      room, why = math.max(0, most_of_domain - n), 'D'
    end
  end
  if is_counted then
    n_keys = call('HINCRBY', counts_of(bucket), domain, 1)
    if most_keys > 0 and n_keys > most_keys then
      room, why = 0, 'D'
    end
  end
  return room, why, n_keys
end

local function uncount(key, place, n_keys)
  local domain, bucket = domain_of(key, place)
  if n_keys == 1 then
    call('HDEL', counts_of(bucket), domain)
  else
    call('HINCRBY', counts_of(bucket), domain, -1)
  end
end

local function add_to(key, place, at, n)
  local host = host_of(key)
  local h = call('HMGET', host, 'n', 'a', 'lk', 'na', 'pz', 'g')
  local waiting, accepted = tonumber(h[1] or 0), tonumber(h[2] or 0)
  local bands, fresh = {}, 0
  local room, why, n_keys = math.huge, nil, nil
  local is_counted = accepted == 0 and string.byte(place) ~= 45 -- '-'
  if (has_budget or is_counted) and not only_looks then
    room, why, n_keys = room_of(key, place, accepted, is_counted)
  end
  for i = at, at + 2 * n - 1, 2 do
    local fingerprint, item = ARGV[i], ARGV[i + 1]
    local band = sub(item, 1, 1)
    local name = bucket_of(fingerprint)
    local mark
    if only_looks then
      mark = call('SISMEMBER', name, fingerprint) == 1 and '0' or 'W'
    elseif band ~= 'k' and fresh >= room then
      mark = '0'
      if call('SISMEMBER', name, fingerprint) == 0 then
        mark = refuse(why, key, place, fingerprint, item)
      end
    elseif call('SADD', name, fingerprint) == 0 then
      mark = '0'
    else
      mark = '1'
      if band == 'k' then
        known_total = known_total + 1
      else
        fresh = fresh + 1
        local list = bands[band]
        if not list then list = {}; bands[band] = list end
        list[#list + 1] = sub(item, 2)
      end
    end
    answer[#answer + 1] = mark
    if takes_up and (mark == '0' or mark == '1') then
      forget_over(key, place, fingerprint)
    end
  end
  if fresh == 0 then
    if n_keys then uncount(key, place, n_keys) end
    return
  end
  if accepted == 0 then new_hosts = new_hosts + 1 end
  local first = nil
  for band, list in pairs(bands) do
    if accepted == 0 and fresh == 1 and #list[1] < MOST_INLINE then
      first = band .. list[1]
    else
      call('RPUSH', queue_of(key, band), unpack(list))
    end
  end
  if first then
    call('HSET', host, 'n', 1, 'a', 1, 'i', first)
  else
    call('HSET', host, 'n', waiting + fresh, 'a', accepted + fresh)
  end
  local g = h[6]
  if n_keys and n_keys > CROWD_AFTER then
    g = #domain_of(key, place)
    call('HSET', host, 'g', g)
  end
  if most_of_domain > 0 then
    local domain, bucket = domain_of(key, place)
    call('HINCRBY', counts_of(bucket), domain .. ' a', fresh)
  end
  if waiting == 0 then
    now = now or now_ms()
    make_ready(key, fresh, h[3], math.max(now, tonumber(h[4] or 0)), h[5], crowd_of(key, g))
  end
  fresh_total = fresh_total + fresh
end

local i = 7
while i <= #ARGV do
  local n = tonumber(ARGV[i + 2])
  add_to(ARGV[i], ARGV[i + 1], i + 3, n)
  i = i + 3 + 2 * n
end

count('q', fresh_total)
count('known', known_total)
count('hosts', new_hosts)
seen = seen + fresh_total + known_total
count('seen', fresh_total + known_total)
if seen > fill * (base + split) and level < MAX_LEVEL then
  repeat split_one() until seen <= fill * (base + split) or level == MAX_LEVEL
  redis.call('HSET', T .. ':cnt', 'lv', level, 'sp', split)
end
return table.concat(answer)
