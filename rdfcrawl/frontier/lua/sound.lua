-- Invariants of a key and of a partition, for checks and repairs.
local function length_of(key)
  local n = #stored_of(key)
  for band = 0, REFRESH_BAND do n = n + redis.call('LLEN', queue_of(key, band)) end
  return n + redis.call('ZCARD', deferred_of(key))
end

-- Returns a letter for each fault of a key: S URIs without a state, N wrong count of
-- them, L locked without a lease, P paused but not locked, K paused but not in
-- T:paused, or the reverse, R waits and must not, W must wait and does not, D counts as
-- refusing without work.
local function faults_of(key)
  local h = redis.call('HMGET', host_of(key), 'n', 'a', 'lk', 'p', 'g')
  local length, lock, faults = length_of(key), h[3], ''
  local is_known = h[1] or h[2]
  if not is_known and length > 0 then return 'S', length end
  if is_known and tonumber(h[1] or -1) ~= length then faults = faults .. 'N' end
  local is_paused = lock == PAUSED and h[4]
  if lock and not is_paused and not redis.call('ZSCORE', T .. ':lease', lock .. ':' .. key) then
    faults = faults .. 'L'
  end
  if h[4] and not lock then faults = faults .. 'P' end
  if (redis.call('SISMEMBER', T .. ':paused', key) == 1) ~= (h[4] and true or false) then
    faults = faults .. 'K'
  end
  local crowd = crowd_of(key, h[5])
  local alone = redis.call('ZSCORE', T .. ':ready', key)
  local waits = alone
  if crowd then waits = redis.call('ZSCORE', waiting_of(crowd), key) end
  local must = length > 0 and not lock
  if waits and not must or crowd and alone then faults = faults .. 'R' end
  if must and not waits then faults = faults .. 'W' end
  -- A visit may hold all URIs of a host; its release decides whether the host refuses.
  if redis.call('ZSCORE', T .. ':down', key) and (length == 0 and not lock or h[4]) then
    faults = faults .. 'D'
  end
  return faults, length
end

-- Returns {name, of each lease without a batch}, URIs in flight under all others.
local function read_leases()
  local lost, n = {}, 0
  for _, member in ipairs(redis.call('ZRANGE', T .. ':lease', 0, -1)) do
    local epoch, key = string.match(member, '^(%d+):(.*)$')
    local items = epoch and redis.call('LRANGE', flight_of(key, epoch), 0, -1) or {}
    if #items == 0 then lost[#lost + 1] = member end
    for _, item in ipairs(items) do
      if item ~= '' then n = n + 1 end
    end
  end
  return lost, n
end

-- Calls `see` once for each key with work: it waits, or is locked.
local function each_with_work(see)
  local seen = {}
  local function once(key)
    if not seen[key] then
      seen[key] = true
      see(key)
    end
  end
  for _, key in ipairs(redis.call('ZRANGE', T .. ':ready', 0, -1)) do
    if string.byte(key) == 64 then -- '@'
      local crowd = waiting_of(string.sub(key, 2))
      for _, each in ipairs(redis.call('ZRANGE', crowd, 0, -1)) do once(each) end
    else
      once(key)
    end
  end
  for _, member in ipairs(redis.call('ZRANGE', T .. ':lease', 0, -1)) do
    once(string.match(member, ':(.*)$') or member)
  end
  for _, key in ipairs(redis.call('SMEMBERS', T .. ':paused')) do once(key) end
end

-- Returns the expected counters, by name. `domains` are those with URIs that wait for
-- an epoch, or false to keep their number.
local function true_counts(domains)
  local q, w, places, crowded, members = 0, 0, 0, 0, 0
  each_with_work(function(key)
    q = q + tonumber(redis.call('HGET', host_of(key), 'n') or 0)
  end)
  for _, key in ipairs(redis.call('ZRANGE', T .. ':ready', 0, -1)) do
    if string.byte(key) == 64 then
      places = places + 1
      crowded = crowded + redis.call('ZCARD', waiting_of(string.sub(key, 2)))
    end
  end
  for _, domain in ipairs(domains or {}) do w = w + redis.call('HLEN', T .. ':ew:' .. domain) end
  open_seen()
  for b = 0, base + split - 1 do
    members = members + redis.call('SCARD', T .. ':s:' .. string.format('%d', b))
  end
  local _, l = read_leases()
  local marks = tonumber(redis.call('HGET', T .. ':cnt', 'mk') or 0)
  if not domains then w = tonumber(redis.call('HGET', T .. ':cnt', 'w') or 0) end
  return {
    q = q, l = l, w = w, dead = redis.call('LLEN', T .. ':dead'), cw = crowded - places,
    seen = members - marks,
  }
end

-- Calls `see` for each queued item of a key.
local function each_item_of(key, see)
  for _, one in ipairs(stored_of(key)) do see(one[2]) end
  for band = 0, REFRESH_BAND do
    for _, item in ipairs(redis.call('LRANGE', queue_of(key, band), 0, -1)) do see(item) end
  end
  for _, item in ipairs(redis.call('ZRANGE', deferred_of(key), 0, -1)) do see(item) end
end

-- Returns the number of granted URIs in queues and in flight, by domain.
local function read_grants()
  local granted = {}
  local function see(key, length)
    local domain = domain_of_host(key, length)
    return function(item)
      if grant_of(item) then granted[domain] = (granted[domain] or 0) + 1 end
    end
  end
  each_with_work(function(key)
    local domain_length = redis.call('HGET', host_of(key), 'e')
    if domain_length then each_item_of(key, see(key, domain_length)) end
  end)
  for _, member in ipairs(redis.call('ZRANGE', T .. ':lease', 0, -1)) do
    local epoch, key = string.match(member, '^(%d+):(.*)$')
    local length = key and redis.call('HGET', host_of(key), 'e')
    if length then
      local note = see(key, length)
      for _, item in ipairs(redis.call('LRANGE', flight_of(key, epoch), 0, -1)) do note(item) end
    end
  end
  return granted
end

-- Returns the excess over the quota of a domain in its epoch. Carried URLs may exceed a
-- quota that was lowered since; then nothing is granted.
local function over_quota(domain)
  local h = redis.call('HMGET', epoch_of(domain), 'q', 'c', 'gs', 'gd', 'gf')
  local n = {}
  for i = 1, 5 do n[i] = tonumber(h[i] or 0) end
  local granted = n[3] + n[4] + n[5]
  return math.max(0, math.min(granted, n[2] + granted - n[1])), n
end

-- Returns the number of URIs over a budget of a key, or, with its bucket, of a domain;
-- and the counted number.
local function count_over(name, bucket)
  local n, found = 0, redis.call('HGETALL', T .. ':over')
  for i = 1, #found, 2 do
    local key, is_of_domain = string.match(found[i], '^(.*) '), string.sub(found[i + 1], 1, 1) == 'd'
    if is_of_domain == (bucket ~= '') then
      local ends = string.sub('.' .. (key or ''), -#name - 1) == '.' .. name
      if key == name or key and bucket ~= '' and ends then n = n + 1 end
    end
  end
  if bucket == '' then return n, tonumber(redis.call('HGET', host_of(name), 'o') or 0) end
  return n, tonumber(redis.call('HGET', counts_of(bucket), name .. ' o') or 0)
end
