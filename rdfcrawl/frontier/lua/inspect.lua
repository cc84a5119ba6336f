-- Checks the invariants; changes nothing.
-- ARGV: check, and
-- 'keys', key, ...: returns {key, faults (see `sound.lua`), URIs in its queues, ...} of
-- keys with faults.
-- 'crowds', crowd, ...: returns crowds whose place is missing or left over.
-- 'members', crowd, key, ...: returns keys that wait in a wrong crowd.
-- 'leases': returns leases without a batch.
-- 'flights', key, epoch, ...: returns key and epoch of each batch without a lease.
-- 'lost', domain, name, ...: returns the number of waiting URIs with these names that
-- no source has; 'left', the number of names in a source whose URI does not wait.
-- 'over', name, bucket, ...: returns {URIs over a budget, as counted, ...} of keys
-- (bucket '') and of domains.
-- 'grants', domain, ...: returns {domain, granted URIs, as counted, number over its
-- quota, ...} of these domains and of all others with grants.
-- 'size': returns how many keys and buckets 'totals' reads.
-- 'totals', '1' or '0', domain, ...: returns the counters as {name, value, expected,
-- ...}, last `sum` of all states, which must equal `seen`. With '1', the URIs waiting
-- for epochs are in these domains; else they are not compared.
local what, wrong = ARGV[1], {}

if what == 'keys' then
  for i = 2, #ARGV do
    local faults, length = faults_of(ARGV[i])
    if faults ~= '' then
      wrong[#wrong + 1] = ARGV[i]
      wrong[#wrong + 1] = faults
      wrong[#wrong + 1] = length
    end
  end
elseif what == 'crowds' then
  for i = 2, #ARGV do
    local has_place = redis.call('ZSCORE', T .. ':ready', place_of(ARGV[i]))
    local has_keys = redis.call('EXISTS', waiting_of(ARGV[i])) == 1
    if has_keys ~= (has_place and true or false) then wrong[#wrong + 1] = ARGV[i] end
  end
elseif what == 'members' then
  for i = 3, #ARGV do
    local g = redis.call('HGET', host_of(ARGV[i]), 'g')
    local is_there = redis.call('ZSCORE', waiting_of(ARGV[2]), ARGV[i])
    if is_there and crowd_of(ARGV[i], g) ~= ARGV[2] then wrong[#wrong + 1] = ARGV[i] end
  end
elseif what == 'leases' then
  wrong = read_leases()
elseif what == 'flights' then
  for i = 2, #ARGV, 2 do
    local is_there = redis.call('EXISTS', flight_of(ARGV[i], ARGV[i + 1])) == 1
    if is_there and not redis.call('ZSCORE', T .. ':lease', ARGV[i + 1] .. ':' .. ARGV[i]) then
      wrong[#wrong + 1] = ARGV[i]
      wrong[#wrong + 1] = ARGV[i + 1]
    end
  end
elseif what == 'lost' or what == 'left' then
  local n, domain = 0, ARGV[2]
  for i = 3, #ARGV do
    local waits = redis.call('HEXISTS', T .. ':ew:' .. domain, ARGV[i]) == 1
    local has = redis.call('ZSCORE', T .. ':es:' .. domain, ARGV[i])
      or redis.call('ZSCORE', T .. ':ed:' .. domain, ARGV[i])
    if what == 'lost' and waits and not has or what == 'left' and has and not waits then
      n = n + 1
    end
  end
  wrong = {n}
elseif what == 'over' then
  for i = 2, #ARGV, 2 do
    wrong[#wrong + 1], wrong[#wrong + 2] = count_over(ARGV[i], ARGV[i + 1])
  end
elseif what == 'grants' then
  local granted = read_grants()
  for i = 2, #ARGV do granted[ARGV[i]] = granted[ARGV[i]] or 0 end
  for domain, n in pairs(granted) do
    local row = {domain, n, tonumber(redis.call('HGET', epoch_of(domain), 'o') or 0), over_quota(domain)}
    for i = 1, 4 do wrong[#wrong + 1] = row[i] end
  end
elseif what == 'size' then
  open_seen()
  local crowded = tonumber(redis.call('HGET', T .. ':cnt', 'cw') or 0)
  return redis.call('ZCARD', T .. ':ready') + crowded + redis.call('ZCARD', T .. ':lease')
    + redis.call('SCARD', T .. ':paused') + base + split
else
  local domains = {}
  for i = 3, #ARGV do domains[#domains + 1] = ARGV[i] end
  local found, sum = true_counts(ARGV[2] == '1' and domains), 0
  for _, name in ipairs({'q', 'l', 'w', 'dead', 'cw', 'seen'}) do
    wrong[#wrong + 1] = name
    wrong[#wrong + 1] = tonumber(redis.call('HGET', T .. ':cnt', name) or 0)
    wrong[#wrong + 1] = found[name]
  end
  for _, name in ipairs({'q', 'l', 'w', 'dead', 'done', 'known'}) do
    sum = sum + tonumber(redis.call('HGET', T .. ':cnt', name) or 0)
  end
  wrong[#wrong + 1] = 'sum'
  wrong[#wrong + 1] = sum
  wrong[#wrong + 1] = tonumber(redis.call('HGET', T .. ':cnt', 'seen') or 0)
end
return wrong
