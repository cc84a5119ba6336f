-- Returns the state of a key in the partition; changes nothing.
-- ARGV: key, most URIs of the head of its queue.
-- Returns {time in ms, fields of its state, when it is due or -1, name of its crowd or
-- '', {waiting in band 0, ..., in band 9, deferred}, {band, item, ... in the order of
-- claims}, {epoch, end of the lease, URIs in flight, ...}, fields of its clock, whether
-- it is marked as away}; URIs stored with the key are counted and listed in their bands.
local key, most = ARGV[1], tonumber(ARGV[2])
local state = redis.call('HGETALL', host_of(key))
local fields = {}
for i = 1, #state, 2 do fields[state[i]] = state[i + 1] end
local crowd = crowd_of(key, fields.g)
local due = redis.call('ZSCORE', crowd and waiting_of(crowd) or T .. ':ready', key)

local sizes, head, stored = {}, {}, stored_of(key)
for band = 0, REFRESH_BAND do sizes[band + 1] = redis.call('LLEN', queue_of(key, band)) end
sizes[REFRESH_BAND + 2] = redis.call('ZCARD', deferred_of(key))

local function list(band)
  for _, one in ipairs(stored) do
    if tonumber(one[1]) == band then
      sizes[band + 1] = sizes[band + 1] + 1
      if #head < 2 * most then
        head[#head + 1] = band
        head[#head + 1] = one[2]
      end
    end
  end
  local room = most - #head / 2
  if room <= 0 then return end
  for _, item in ipairs(redis.call('LRANGE', queue_of(key, band), 0, room - 1)) do
    head[#head + 1] = band
    head[#head + 1] = item
  end
end

local function list_deferred()
  local room = most - #head / 2
  if room <= 0 then return end
  for _, item in ipairs(redis.call('ZRANGE', deferred_of(key), 0, room - 1)) do
    head[#head + 1] = REFRESH_BAND + 1
    head[#head + 1] = item
  end
end

list(RETRY_BAND)
for _, band in ipairs(ORDINARY_BANDS) do list(band) end
list(REFRESH_BAND)
list_deferred()

local leases = {}
for _, member in ipairs(redis.call('ZRANGE', T .. ':lease', 0, -1)) do
  local epoch, leased = string.match(member, '^(%d+):(.*)$')
  if leased == key then
    local n = 0
    for _, item in ipairs(redis.call('LRANGE', flight_of(key, epoch), 0, -1)) do
      if item ~= '' then n = n + 1 end
    end
    leases[#leases + 1] = epoch
    leases[#leases + 1] = redis.call('ZSCORE', T .. ':lease', member)
    leases[#leases + 1] = n
  end
end
open_seen()
return {
  now_ms(), state, due or '-1', crowd or '', sizes, head, leases,
  redis.call('HGETALL', clock_of(key)), has_mark('away', key) and 1 or 0,
}
