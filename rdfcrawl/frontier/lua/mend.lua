-- Repairs faults found by `inspect` that still exist, without losing URIs.
-- ARGV: fault, and
-- 'key', key: derive its count, lock, place and state from its queues.
-- 'crowd', crowd: repair its place.
-- 'member', crowd, key: move it to where it belongs.
-- 'lease', epoch:key: remove a lease without a batch.
-- 'flight', key, epoch: treat its lease as expired, so that `reap` puts the batch back.
-- 'totals', '1' or '0', domain, ... (as for `inspect`): correct the counters. URIs that
-- are neither queued, in flight, waiting nor dead count as done, except those only
-- marked as seen. Returns how many queued URIs were never marked as seen.
-- 'hosts', number: correct the counter of hosts by it.
-- 'domain', registered domain, its bucket, keys: count at least that many.
-- 'marks', fill, fingerprint, ...: mark queued URIs as seen.
-- 'lost' or 'left', domain, name, ...: give waiting URIs to the source of links; remove
-- names without URIs.
-- 'over', name, bucket: recount the URIs over a budget of a key, or, with a bucket, of
-- a domain.
-- 'grants', domain: recount its granted URIs, and reduce them to its quota.
-- 'forget', key: remove its state if it has no URIs; it is also in another partition.
-- Returns 0 unless stated otherwise.
local what, name = ARGV[1], ARGV[2]

local function mend_key(key)
  local host = host_of(key)
  local h = redis.call('HMGET', host, 'n', 'a', 'lk', 'p', 'g', 'na')
  local length, lock, crowd = length_of(key), h[3], crowd_of(key, h[5])
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
    make_due(key, length, false, math.max(now_ms(), tonumber(h[6] or 0)), crowd)
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
  count('done', n) -- until 'totals' recounts everything
  close_seen(n, tonumber(name))
elseif what == 'lost' or what == 'left' then
  for i = 3, #ARGV do
    local waits = redis.call('HEXISTS', T .. ':ew:' .. name, ARGV[i]) == 1
    local has = redis.call('ZSCORE', T .. ':es:' .. name, ARGV[i])
      or redis.call('ZSCORE', T .. ':ed:' .. name, ARGV[i])
    if waits and not has then
      redis.call('ZADD', T .. ':ed:' .. name, 2 ^ 43 + i, ARGV[i]) -- last in order
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
  local h = redis.call('HMGET', host_of(name), 'n', 'lk')
  local is_free = not h[2] or h[2] == PAUSED
  for _, member in ipairs(redis.call('ZRANGE', T .. ':lease', 0, -1)) do
    if string.match(member, ':(.*)$') == name then is_free = false end
  end
  if is_free and length_of(name) == 0 and redis.call('EXISTS', host_of(name)) == 1 then
    redis.call('DEL', host_of(name), deferred_of(name))
    redis.call('SREM', T .. ':paused', name)
    make_unready(name, nil)
    count('hosts', -1)
  end
end
return 0
