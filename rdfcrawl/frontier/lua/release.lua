-- Unlocks keys: other workers may visit them when they are due. Fetched items stay in
-- flight until they are acknowledged.
-- ARGV per key: key, epoch, ms for which it rests, refused ('' if not, '+' if the host
-- has responded, '-' if unknown, '?' and a URL if that was refused and no later one got
-- a response ('!' if the host has responded at all), else the ms of its Retry-After,
-- and the URL refused last, after '=' if an earlier one of the visit got a response, so
-- that this refusal is the first in a row), delay ms ('' keeps it, 0 removes it), the
-- address of the host ('' if unknown), its bucket, r, r x (index in the batch, with 'x'
-- if it is set aside as unlikely, 'b' if it goes behind all others, 'u' if it was not
-- requested, and 'd' and ms if it is deferred for so long, item to put back).
-- Returns one character per key: 1 done, now or before, 0 the lease was lost.
local now = now_ms()
local results = {}
local MOST_UNLIKELY = 100000 -- per partition; further ones are only counted

local function set_aside(key, item)
  if redis.call('LLEN', T .. ':unlikely') < MOST_UNLIKELY then
    redis.call('RPUSH', T .. ':unlikely', key .. '\0' .. item)
  end
end

-- Waits chosen by the crawl are odd: see `deferred_of`.
local function due_after(rests)
  local due = now + tonumber(rests)
  local is_own = tonumber(rests) % 2
  return string.format('%d', due + (due + is_own) % 2)
end

-- Records the health of a host. Returns whether it refuses.
local function note_health(host, refused, h)
  local has_failed, suspected = h[3], h[7]
  if refused == '-' then return has_failed end
  local mark = string.sub(refused, 1, 1)
  if (mark == '+' or mark == '!') and not h[8] then redis.call('HSET', host, 'k', 1) end
  local is_suspect = mark == '?' or mark == '!'
  if is_suspect then
    redis.call('HSET', host, 'u', string.sub(refused, 2))
  elseif suspected and (refused == '' or mark == '+') then
    redis.call('HDEL', host, 'u')
  end
  if refused == '' or mark == '+' or is_suspect then
    if has_failed then redis.call('HDEL', host, 'f', 'fs', 'ra') end
    if h[10] then redis.call('HDEL', host, 'os') end
    return false
  end
  local has_recovered, asked, url = string.match(refused, '^(=?)(%d+) ?(.*)$')
  if has_recovered ~= '' then redis.call('HDEL', host, 'f', 'fs') end
  redis.call('HINCRBY', host, 'f', 1)
  redis.call('HSETNX', host, 'fs', now)
  redis.call('HSET', host, 'ra', now + tonumber(asked))
  if url ~= '' then redis.call('HSET', host, 'u', url) end
  return true
end

local function release(at)
  local key, epoch, rest, refused = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3]
  local delay, address, r = ARGV[at + 4], ARGV[at + 5], tonumber(ARGV[at + 7])
  local host = host_of(key)
  local h = redis.call('HMGET', host, 'n', 'lk', 'f', 'g', 'e', 'p', 'u', 'k', 'wd', 'os', 'na')
  -- Repeated after a lost reply: do not put items back twice.
  if h[2] ~= epoch then
    return redis.call('ZSCORE', T .. ':lease', epoch .. ':' .. key) and '1' or '0'
  end
  redis.call('HDEL', host, 'lk', 'at')
  local lock = h[6] and PAUSED
  if lock then redis.call('HSET', host, 'lk', lock) end
  local flight, ungranted, aside = flight_of(key, epoch), 0, 0
  local n_flight = r > 0 and redis.call('LLEN', flight)
  for i = at + 6 + 2 * r, at + 8, -2 do
    local index, unlikely, behind, unasked, rests = string.match(ARGV[i], '^(%d+)(x?)(b?)(u?)d?(%d*)$')
    local item = ARGV[i + 1]
    local is_lost = tonumber(index) >= n_flight -- by the server, with its `extend`
    local grant = h[5] and grant_of(redis.call('LINDEX', flight, index))
    if not is_lost then redis.call('LSET', flight, index, '') end
    if grant and unasked ~= '' then item = with_grant(item, grant) end
    if is_lost then
      r = r - 1 -- it waits in its queue
    elseif unlikely ~= '' then
      set_aside(key, item)
      aside = aside + 1
    elseif grant and unasked == '' then
      ungrant(domain_of_host(key, h[5]), key, item, grant)
      ungranted = ungranted + 1
    elseif rests ~= '' and redis.call('ZADD', deferred_of(key), due_after(rests), item) == 1 then
      -- other URIs of the key come first
    elseif behind == '' then
      redis.call('LPUSH', queue_of(key, RETRY_BAND), item)
    else
      redis.call('RPUSH', queue_of(key, is_suspect(item) and RETRY_BAND or LAST_BAND), item)
    end
  end
  if ungranted > 0 then look_at(domain_of_host(key, h[5])) end
  count('q', r - ungranted - aside)
  count('w', ungranted)
  count('l', -r)
  count('done', aside)
  count('un', aside)
  local n = tonumber(h[1]) + r - ungranted - aside
  local not_before = string.format('%d', now + rest)
  if r ~= ungranted + aside then
    redis.call('HSET', host, 'n', n, 'na', not_before)
  elseif rest > 0 or tonumber(h[11] or 0) > now then
    redis.call('HSET', host, 'na', not_before)
  end
  if delay == '0' then
    redis.call('HDEL', host, 'd')
  elseif delay ~= '' then
    redis.call('HSET', host, 'd', delay)
  end
  local is_down = note_health(host, refused, h)
  if h[9] then redis.call('HDEL', host, 'wd') end
  if is_down and n > 0 and not lock then
    redis.call('ZADD', T .. ':down', 'NX', redis.call('HGET', host, 'fs'), key)
  elseif h[3] or h[9] then
    redis.call('ZREM', T .. ':down', key)
  end
  local g = h[4]
  if address ~= '' and not g and n > 0 then
    local met = redis.call('HINCRBY', counts_of(ARGV[at + 6]), address .. ' i', 1)
    g = met > CROWD_AFTER and address or ''
    redis.call('HSET', host, 'g', g)
  end
  make_due(key, n, lock, not_before, crowd_of(key, g))
  return '1'
end

local i = 1
while i <= #ARGV do
  results[#results + 1] = release(i)
  i = i + 8 + 2 * tonumber(ARGV[i + 7])
end
return table.concat(results)
