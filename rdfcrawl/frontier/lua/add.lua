-- Queues URIs that were never seen.
-- ARGV: budget per key (0: none), fill, most URIs kept of those over budget, whether only
-- to look (0/1); then per key: key, n, n x (fingerprint, item).
-- item: band digit + payload, or 'k' for a URI that is only to be marked as seen.
-- Returns one character per URI: 1 new, 0 seen before, F the key's budget is spent,
-- R the same, and it was kept for that before; W it would be new, if that was only
-- looked at, which a full server still does.
local budget, fill, most_over = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local only_looks = ARGV[4] == '1'
local MOST_OVER_OF_KEY = 10000 -- or one trap would leave no room for other hosts

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

-- Keeps a URI over budget until the budget is raised, as far as there is room.
local function refuse(key, fingerprint, item)
  local over, field = T .. ':over', key .. ' ' .. fingerprint
  if call('HEXISTS', over, field) == 1 then return 'R' end
  local n = tonumber(call('HGET', host_of(key), 'o') or 0)
  if n < MOST_OVER_OF_KEY and call('HLEN', over) < most_over then
    call('HSET', over, field, item)
    call('HINCRBY', host_of(key), 'o', 1)
  end
  return 'F'
end

local function add_to(key, at, n)
  local host = host_of(key)
  local h = call('HMGET', host, 'n', 'a', 'lk', 'na', 'pz')
  local waiting, accepted = tonumber(h[1] or 0), tonumber(h[2] or 0)
  local bands, fresh = {}, 0
  for i = at, at + 2 * n - 1, 2 do
    local fingerprint, item = ARGV[i], ARGV[i + 1]
    local band = sub(item, 1, 1)
    local bucket = bucket_of(fingerprint)
    if only_looks then
      answer[#answer + 1] = call('SISMEMBER', bucket, fingerprint) == 1 and '0' or 'W'
    elseif band ~= 'k' and budget > 0 and accepted + fresh >= budget then
      local is_seen = call('SISMEMBER', bucket, fingerprint) == 1
      answer[#answer + 1] = is_seen and '0' or refuse(key, fingerprint, item)
    elseif call('SADD', bucket, fingerprint) == 0 then
      answer[#answer + 1] = '0'
    else
      answer[#answer + 1] = '1'
      if band == 'k' then
        known_total = known_total + 1
      else
        fresh = fresh + 1
        local list = bands[band]
        if not list then list = {}; bands[band] = list end
        list[#list + 1] = sub(item, 2)
      end
    end
  end
  if fresh == 0 then return end
  if accepted == 0 then new_hosts = new_hosts + 1 end
  for band, list in pairs(bands) do
    call('RPUSH', queue_of(key, band), unpack(list))
  end
  call('HSET', host, 'n', waiting + fresh, 'a', accepted + fresh)
  if waiting == 0 then
    now = now or now_ms()
    make_ready(key, fresh, h[3], math.max(now, tonumber(h[4] or 0)), h[5])
  end
  fresh_total = fresh_total + fresh
end

local i = 5
while i <= #ARGV do
  local n = tonumber(ARGV[i + 1])
  add_to(ARGV[i], i + 2, n)
  i = i + 2 + 2 * n
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
