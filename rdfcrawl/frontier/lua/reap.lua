-- Takes back batches whose lease ran out: their worker is dead, or cut off for as long.
-- ARGV: most batches, ms to leave such a key alone.
-- A batch that was still locked was being worked on: each of its items loses a life,
-- as any may have killed the worker. A released one only waited for its commit; its
-- items count as tried, so that redirect targets which they had marked as seen are
-- fetched all the same.
-- Returns {batches, items put back, {key, item, … of the dead}}.
local now = now_ms()
local rest = tonumber(ARGV[2])
local back, dead, buried = 0, 0, {}

local function lose_a_life(item)
  local head = string.byte(item, 1)
  local lost = math.floor(head / 16) % 4 + 1
  return string.char(head + 16) .. string.sub(item, 2), lost >= LEASES_TO_DEATH
end

local function mark_tried(item)
  local head = string.byte(item, 1)
  if head >= 192 then return item end
  return string.char(head + 64) .. string.sub(item, 2)
end

local function reap(key, epoch)
  local host, flight = host_of(key), flight_of(key, epoch)
  local h = redis.call('HMGET', host, 'n', 'lk', 'pz', 'na')
  local was_locked = h[2] == epoch
  local items, put_back = redis.call('LRANGE', flight, 0, -1), 0
  for i = #items, 1, -1 do
    local item, is_dead = items[i], false
    if item ~= '' then
      if was_locked then
        item, is_dead = lose_a_life(item)
      else
        item = mark_tried(item)
      end
      if is_dead then
        redis.call('RPUSH', T .. ':dead', key .. '\0' .. item)
        buried[#buried + 1] = key
        buried[#buried + 1] = item
        dead = dead + 1
      else
        redis.call('LPUSH', queue_of(key, RETRY_BAND), item)
        put_back = put_back + 1
      end
    end
  end
  redis.call('DEL', flight)
  local n = tonumber(h[1]) + put_back
  redis.call('HSET', host, 'n', n)
  if was_locked then redis.call('HDEL', host, 'lk') end
  make_ready(key, n, h[2] and not was_locked, math.max(now + rest, tonumber(h[4] or 0)), h[3])
  back = back + put_back
end

local expired = redis.call('ZRANGEBYSCORE', T .. ':lease', '-inf', now, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(expired) do
  local epoch, key = string.match(member, '^(%d+):(.*)$')
  redis.call('ZREM', T .. ':lease', member)
  reap(key, epoch)
end
count('l', -(back + dead))
count('q', back)
count('dead', dead)
return {#expired, back, buried}
