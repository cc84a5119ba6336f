-- Mends what `inspect` has found, as far as it is still so, and loses no URI.
-- ARGV: what, and
-- 'key', key: its count, lock, place and state are made those of its queues.
-- 'crowd', crowd: its place.
-- 'member', crowd, key: it waits where it belongs.
-- 'lease', epoch:key: it is taken away, as it has no batch.
-- 'flight', key, epoch: its lease counts as run out, so that `reap` puts the batch back.
-- 'totals', '1' or '0', domain, … (as for `inspect`): the counters are made what they must be. What is neither queued,
--   in flight, waiting nor dead counts as done, but for what was only marked as seen.
--   Returns how many URIs too many are queued, for as many were never marked as seen.
-- 'hosts', number that was counted wrongly: the counter of hosts is changed by it.
-- 'domain', registered domain, its bucket, keys: that many at least are counted.
-- 'marks', fill, fingerprint, …: URIs that are queued are marked as seen.
-- 'lost' or 'left', domain, name, …: URIs that wait are given to the source of links, and
--   names without URIs are taken away.
-- 'over', name, bucket: what a key, or with its bucket a domain, counts of URIs over a
--   budget is made what there are.
-- 'grants', domain: the same of its granted URIs, and what is over its quota is taken off.
-- 'forget', key: its state, if it has no URIs: it is in another partition, too.
-- Returns 0 unless said otherwise.
local what, name = ARGV[1], ARGV[2]

local function mend_key(key)
  local host = host_of(key)
  local h = redis.call('HMGET', host, 'n', 'a', 'lk', 'p', 'g', 'i', 'na')
  local length, lock, crowd = length_of(key, h[6]), h[3], crowd_of(key, h[5])
  if not h[1] and not h[2] then
    make_unready(key, nil)
    redis.call('ZREM', T .. ':down', key)
    redis.call('SREM', T .. ':paused', key)
    if length == 0 then return end
    count('hosts', 1 - redis.call('EXISTS', host))
  end
  if not h[2] then redis.call('HSET', host, 'a', length) end
  if tonumber(h[1] or -1) ~= length then redis.call('HSET', host, 'n', length) end
  local is_lease = lock and redis.call('ZSCORE', T .. ':lease', lock .. ':' .. key)
  if lock and not is_lease and not (lock == PAUSED and h[4]) then
    redis.call('HDEL', host, 'lk', 'at')
    lock = nil
  end
  if h[4] and not lock then
    lock = PAUSED
    redis.call('HSET', host, 'lk', lock)
  end
  redis.call(h[4] and 'SADD' or 'SREM', T .. ':paused', key)
  if length == 0 or h[4] then redis.call('ZREM', T .. ':down', key) end
  if crowd or length == 0 or lock then redis.call('ZREM', T .. ':ready', key) end
  if length == 0 or lock then
    make_unready(key, crowd)
  elseif not redis.call('ZSCORE', crowd and waiting_of(crowd) or T .. ':ready', key) then
    make_due(key, length, false, math.max(now_ms(), tonumber(h[7] or 0)), crowd)
  end
end

local function mend_place(crowd)
  local first = redis.call('ZRANGE', waiting_of(crowd), 0, 0, 'WITHSCORES')
  if not first[2] then
    redis.call('ZREM', T .. ':ready', place_of(crowd))
  elseif not redis.call('ZSCORE', T .. ':ready', place_of(crowd)) then
    redis.call('ZADD', T .. ':ready', first[2], place_of(crowd))
  end
end

local function mend_totals()
  local domains = {}
  for i = 3, #ARGV do domains[#domains + 1] = ARGV[i] end
  local found = true_counts(ARGV[2] == '1' and domains)
  local known = tonumber(redis.call('HGET', T .. ':cnt', 'known') or 0)
  local rest = found.seen - found.q - found.l - found.w - found.dead
  local too_many = math.max(0, -rest)
  rest = math.max(0, rest)
  found.known = math.min(math.max(0, known), rest)
  found.done = rest - found.known
  for field, value in pairs(found) do
    redis.call('HSET', T .. ':cnt', field, string.format('%d', value))
  end
  return too_many
end

if what == 'key' then
  mend_key(name)
elseif what == 'crowd' then
  mend_place(name)
elseif what == 'member' then
  redis.call('ZREM', waiting_of(name), ARGV[3])
  mend_place(name)
  mend_key(ARGV[3])
elseif what == 'lease' then
  local epoch, key = string.match(name, '^(%d+):(.*)$')
  if not epoch or redis.call('EXISTS', flight_of(key, epoch)) == 0 then
    redis.call('ZREM', T .. ':lease', name)
    if key then mend_key(key) end
  end
elseif what == 'flight' then
  if redis.call('EXISTS', flight_of(name, ARGV[3])) == 1 then
    redis.call('ZADD', T .. ':lease', 'NX', 0, ARGV[3] .. ':' .. name)
  end
elseif what == 'totals' then
  return mend_totals()
elseif what == 'hosts' then
  count('hosts', tonumber(name))
elseif what == 'domain' then
  local counted = tonumber(redis.call('HGET', counts_of(ARGV[3]), name) or 0)
  if counted < tonumber(ARGV[4]) then redis.call('HSET', counts_of(ARGV[3]), name, ARGV[4]) end
elseif what == 'marks' then
  open_seen()
  local n = 0
  for i = 3, #ARGV do n = n + call('SADD', bucket_of(ARGV[i]), ARGV[i]) end
  count('seen', n)
  count('done', n) -- until 'totals' is made of what is there
  close_seen(n, tonumber(name))
elseif what == 'lost' or what == 'left' then
  for i = 3, #ARGV do
    local waits = redis.call('HEXISTS', T .. ':ew:' .. name, ARGV[i]) == 1
    local has = redis.call('ZSCORE', T .. ':es:' .. name, ARGV[i])
      or redis.call('ZSCORE', T .. ':ed:' .. name, ARGV[i])
    if waits and not has then
      redis.call('ZADD', T .. ':ed:' .. name, 2 ^ 43 + i, ARGV[i]) -- behind all others
      redis.call('ZADD', T .. ':epochs', 'LT', 0, name)
    elseif has and not waits then
      redis.call('ZREM', T .. ':es:' .. name, ARGV[i])
      redis.call('ZREM', T .. ':ed:' .. name, ARGV[i])
    end
  end
elseif what == 'over' then
  local n = count_over(name, ARGV[3])
  if ARGV[3] == '' then
    redis.call('HSET', host_of(name), 'o', n)
  else
    redis.call('HSET', counts_of(ARGV[3]), name .. ' o', n)
  end
elseif what == 'grants' then
  local over, n = over_quota(name)
  redis.call('HSET', epoch_of(name), 'o', read_grants()[name] or 0)
  for i, field in ipairs({'gs', 'gd', 'gf'}) do
    local less = math.min(over, n[2 + i])
    redis.call('HSET', epoch_of(name), field, n[2 + i] - less)
    over = over - less
  end
  look_at(name)
elseif what == 'forget' then
  local h = redis.call('HMGET', host_of(name), 'n', 'lk', 'i')
  local is_free = not h[2] or h[2] == PAUSED
  for _, member in ipairs(redis.call('ZRANGE', T .. ':lease', 0, -1)) do
    if string.match(member, ':(.*)$') == name then is_free = false end
  end
  if is_free and length_of(name, h[3]) == 0 and redis.call('EXISTS', host_of(name)) == 1 then
    redis.call('DEL', host_of(name), deferred_of(name))
    redis.call('SREM', T .. ':paused', name)
    make_unready(name, nil)
    count('hosts', -1)
  end
end
return 0
