-- Shared by all operations. KEYS[1] is the partition's prefix T = rc:{crawl/p};
-- every key is computed under its hash tag, so a script touches one slot.
--
-- Invariants, each kept by every script:
--   seen = q + l + done + dead + known          (fields of T:cnt)
--   q = sum of n over T:h:*  = sum of LLEN over T:q:*
--   l = items other than '' over T:i:*
--   a key is in T:ready  <=>  n > 0, not locked (lk), not paused (pz)
--   epoch:key is in T:lease  <=>  T:i:key:epoch exists; a lock is one of them
--
-- With full memory all but `add` must go on. Redis 6.2 refuses what may take memory
-- only as the first write of a script, so that each of these frees before it adds.
local T = KEYS[1]
local RETRY_BAND, LAST_BAND = 0, 3

-- Time in ms. It never goes back: where the clock of the server does, hosts would rest,
-- and leases last, for as much longer. `clk` is the latest time that was kept, `off`
-- what is added to the clock since it went back.
local function read_clock()
  local t = redis.call('TIME')
  local kept = redis.call('HMGET', T .. ':cnt', 'clk', 'off')
  local clock = t[1] * 1000 + math.floor(t[2] / 1000)
  return clock, tonumber(kept[1] or 0), tonumber(kept[2] or 0)
end

local function now_ms()
  local clock, latest, offset = read_clock()
  return math.max(clock + offset, latest)
end

local function host_of(key) return T .. ':h:' .. key end
local function queue_of(key, band) return T .. ':q:' .. key .. ':' .. band end
local function flight_of(key, epoch) return T .. ':i:' .. key .. ':' .. epoch end
local function count(field, by)
  if by ~= 0 then redis.call('HINCRBY', T .. ':cnt', field, by) end
end

-- Items that a dead worker held are suspects: they are handed out alone, and what is
-- being done with them is written down before it is done (`begin.lua`).
local function is_suspect(item)
  return math.floor((string.byte(item, 1) or 0) / 16) % 4 > 0
end

-- Puts a key among the ready ones if it has work and nobody holds it.
local function make_ready(key, n, lock, not_before, paused)
  if n > 0 and not lock and not paused then
    redis.call('ZADD', T .. ':ready', not_before, key)
  end
end
