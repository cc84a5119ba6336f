-- Adds URIs to batches of visits that go on: links of a host without a delay to itself,
-- which were queued during the visit.
-- ARGV per key: key, epoch, number of URIs in the batch, most URIs to add.
-- Returns for each the added items: none if the lease was lost, or the key has none that
-- `take_links` gives, or must rest. Repeated after a lost reply, it returns the same.
local results, added = {}, 0

local function extend(key, epoch, before, most)
  local h = redis.call('HMGET', host_of(key), 'lk', 'n', 'p', 'd', 'od', unpack(STORED))
  if h[1] ~= epoch or h[3] then return {} end
  local rest = math.max(tonumber(h[4] or 0), tonumber(h[5] or 0))
  local n, flight = tonumber(h[2] or 0), flight_of(key, epoch)
  local n_flight = redis.call('LLEN', flight)
  -- Fewer: the server has lost a former call. The URIs of that wait in their queue.
  if rest > 0 or n_flight < before then return {} end
  if n_flight > before then return redis.call('LRANGE', flight, before, -1) end
  local stored = stored_in(h, 6, key)
  local items = take_links(key, most, n, stored)
  if not items or #items == 0 then return {} end
  local fields = store_rest(key, stored)
  redis.call('HSET', host_of(key), 'n', n - #items, unpack(fields))
  redis.call('RPUSH', flight, unpack(items))
  added = added + #items
  return items
end

for i = 1, #ARGV, 4 do
  results[#results + 1] = extend(
    ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]))
end
count('q', -added)
count('l', added)
return results
