-- Puts back batches whose lease has expired: their worker is dead, or cut off.
-- ARGV: most batches, ms for which such a key rests.
-- If a batch was still locked, any of its items may have killed the worker: they are
-- suspects from now on. A suspect loses a life if its document was being read in the
-- worker, and an eighth of one if it was being requested, or read by a child process.
-- An item that was not begun loses nothing.
-- A released batch only waited for its commit; its items count as tried, so that
-- redirect targets which they marked as seen are fetched all the same.
-- Returns {batches, items put back, {key, item, ... of dead ones}}.
local now = now_ms()
local rest = tonumber(ARGV[2])
local back, dead, held, buried = 0, 0, 0, {}
local EIGHTHS = {asked = 1, read = 8} -- cost of a death in eighths, by step
local LIVES = 3

local function make_suspect(item)
  if item == '' or is_suspect(item) then return item end
  return string.char(string.byte(item, 1) + 16) .. string.sub(item, 2)
end

-- Adds to the last field of an item; `candidate.py` defines the layout.
local function with_blame(item, eighths)
  local before = tonumber(string.match(item, '%z\4(%d+)$') or 0)
  local rest_of_item = string.gsub(item, '%z\4%d+$', '')
  if not string.find(rest_of_item, '\0', 3, true) then
    rest_of_item = rest_of_item .. '\0\0' -- it has no parent
  end
  local blame = before + eighths
  return rest_of_item .. '\0\4' .. string.format('%d', blame), blame >= LIVES * 8
end

local function mark_tried(item)
  local head = string.byte(item, 1)
  if not head or head >= 64 then return item end
  return string.char(head + 64) .. string.sub(item, 2)
end

local function reap(key, epoch)
  local host, flight = host_of(key), flight_of(key, epoch)
  local h = redis.call('HMGET', host, 'n', 'lk', 'na', 'at', 'g', 'e', 'p', 'wd', 'f')
  local was_locked = h[2] == epoch
  local items, put_back = redis.call('LRANGE', flight, 0, -1), 0
  local domain, is_any = h[6] and domain_of_host(key, h[6]), false
  local eighths = was_locked and #items == 1 and is_suspect(items[1]) and EIGHTHS[h[4]]
  for i = #items, 1, -1 do
    local item, is_dead = items[i], false
    if item ~= '' then
      local grant = domain and grant_of(item)
      if grant then item, is_any = without_grant(item), true end
      if eighths then
        item, is_dead = with_blame(item, eighths)
      elseif was_locked then
        item = make_suspect(item)
      else
        item = mark_tried(item)
      end
      if is_dead then
        redis.call('RPUSH', T .. ':dead', key .. '\0' .. item)
        buried[#buried + 1] = key
        buried[#buried + 1] = item
        dead = dead + 1
        if grant then settle(domain, grant, '0') end
      elseif grant then
        ungrant(domain, key, item, grant)
        held = held + 1
      else
        -- Items that were begun go behind the others.
        redis.call(eighths and 'RPUSH' or 'LPUSH', queue_of(key, RETRY_BAND), item)
        put_back = put_back + 1
      end
    end
  end
  redis.call('DEL', flight)
  if is_any then look_at(domain) end
  local n = tonumber(h[1] or 0) + put_back
  redis.call('HSET', host, 'n', n)
  if was_locked then redis.call('HDEL', host, 'lk', 'at') end
  local lock = h[2] and not was_locked
  if was_locked and h[7] then
    lock = true
    redis.call('HSET', host, 'lk', PAUSED)
    redis.call('ZREM', T .. ':down', key)
  end
  if n == 0 then redis.call('ZREM', T .. ':down', key) end -- all wait for an epoch
  if h[8] and put_back > 0 then end_deferral(key, h[9]) end
  local not_before = math.max(now + rest, tonumber(h[3] or 0))
  make_due(key, n, lock, not_before, crowd_of(key, h[5]))
  back = back + put_back
end

local expired = redis.call('ZRANGEBYSCORE', T .. ':lease', '-inf', now, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(expired) do
  local epoch, key = string.match(member, '^(%d+):(.*)$')
  redis.call('ZREM', T .. ':lease', member)
  reap(key, epoch)
end
count('l', -(back + held + dead))
count('q', back)
count('w', held)
count('dead', dead)
return {#expired, back + held, buried}
