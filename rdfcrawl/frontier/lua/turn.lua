-- Gives turns to request a host, and records sent requests: one clock per key, for the
-- requests of all workers.
-- T:t:<key> has `at`, when the last request was sent, and `d`, the delay after it; for
-- a turn that was given and not sent yet, its holder (`by`), begin (`st`) and end
-- (`till`).
-- ARGV per entry: token, key, epoch of its lease ('' for none), delay ms, ms for which
-- a turn may be held ('' if no turn is requested), ms since the request of the turn was
-- sent ('' if it was not).
-- Returns for each request {code, ms}: 1 the turn begins in so many ms; 0 another one
-- has it, repeat the request then; -1 the lease is lost; -2 the host has refused, and
-- rests for so many ms, too long to wait; -3 the key is away, and its clock is in its
-- partition. A request repeated under its token gets the same turn, as replies may get
-- lost.
local now = now_ms()
local results = {}
local KEPT_MS = 120000 -- longer than the longest Crawl-delay that is obeyed
local REST_MS = 30000 -- longest wait for a resting host
local SAME_MS = 10 -- repeated reports of one request differ by less
local LOOK_MS = 25 -- interval of looks for a request about to be sent

-- Returns until when a host that has refused rests for requests without a lease.
local function rest_of(h, epoch)
  local is_free = not h[2] or h[2] == PAUSED
  return epoch == '' and is_free and (h[3] or h[7]) and tonumber(h[4]) or 0
end

local function keep(key, fields, delay, hold)
  redis.call('DEL', clock_of(key)) -- free memory first: see `prelude.lua`
  redis.call('HSET', clock_of(key), unpack(fields))
  redis.call('PEXPIRE', clock_of(key), KEPT_MS + 2 * delay + hold)
end

local function take(token, key, epoch, delay, hold)
  local h = redis.call('HMGET', host_of(key), 'd', 'lk', 'f', 'na', 'a', 'od', 'u')
  if epoch ~= '' and h[2] ~= epoch then return {-1, 0} end
  if epoch == '' and not h[5] then
    if not level then open_seen() end
    if has_mark('away', key) then return {-3, 0} end
  end
  local c = redis.call('HMGET', clock_of(key), 'at', 'd', 'by', 'st', 'till')
  local at, after = tonumber(c[1] or 0), tonumber(c[2] or 0)
  local least = math.max(delay, after, tonumber(h[1] or 0), tonumber(h[6] or 0))
  local rest = rest_of(h, epoch)
  if rest > now + REST_MS then return {-2, rest - now} end
  local start = math.max(now, at + least, rest)
  if c[3] == token then
    start = math.max(now, tonumber(c[4]))
  elseif c[3] and tonumber(c[5]) > now then
    return {0, math.max(LOOK_MS, tonumber(c[4]) + least - now)}
  elseif c[3] then
    start = math.max(start, tonumber(c[4]) + least) -- its holder may be dead
  end
  keep(key, {'at', at, 'd', after, 'by', token, 'st', start, 'till', start + hold},
    delay, start + hold - now)
  return {1, start - now}
end

local function note(token, key, epoch, delay, ago)
  local c = redis.call('HMGET', clock_of(key), 'at', 'd', 'by', 'st', 'till')
  local at, after = tonumber(c[1] or 0), tonumber(c[2] or 0)
  -- The visit of a host determines its delay. Other requests do not shorten it.
  if epoch == '' and after > delay and redis.call('HEXISTS', host_of(key), 'lk') == 1 then
    delay = after
  end
  local sent = ago ~= '' and now - tonumber(ago) or 0
  if sent >= at then
    at, after = sent, delay
  elseif sent > at - SAME_MS then -- repeated report with a longer delay
    after = math.max(after, delay)
  end
  local fields, hold = {'at', at, 'd', after}, 0
  if c[3] and c[3] ~= token then
    fields = {'at', at, 'd', after, 'by', c[3], 'st', c[4], 'till', c[5]}
    hold = math.max(0, tonumber(c[5]) - now)
  end
  keep(key, fields, delay, hold)
end

for i = 1, #ARGV, 6 do
  local token, key, epoch, delay = ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
  if ARGV[i + 4] ~= '' then
    results[#results + 1] = take(token, key, epoch, delay, tonumber(ARGV[i + 4]))
  else
    note(token, key, epoch, delay, ARGV[i + 5])
  end
end
return results
