-- Gives up the lock on keys: others may visit them once their time has come. What was
-- fetched stays in flight until it is acknowledged.
-- ARGV per key: key, epoch, ms to leave it alone, refused ('' if not, '+' if the host has
-- answered, '-' if that is not known, '?' and a URL if that was refused, and no other one
-- was answered after it ('!' if the host has answered in any way), else ms for which the host itself wants to be left alone, and the
-- URL that it refused last, after '=' if it had answered before in the visit, so that this
-- refusal is the first in a row), delay ms ('' leaves it, 0 forgets it), the address of the host
-- ('' if it is not known), its bucket, r, r x (index in the batch, with a 'b' if it goes
-- behind all others, a 'u' if it was not asked for, and a 'd' and ms if it is deferred for
-- so long, item to put back).
-- Returns one character per key: 1 done, now or before, 0 the lease was lost.
local now = now_ms()
local answer = {}

-- Own waits are odd: see `deferred_of`.
local function due_after(rests)
  local due = now + tonumber(rests)
  local is_own = tonumber(rests) % 2
  return string.format('%d', due + (due + is_own) % 2)
end

-- Takes note of the health of a host. Returns whether it refuses.
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
  if not redis.call('ZSCORE', T .. ':lease', epoch .. ':' .. key) then return '0' end
  local h = redis.call('HMGET', host, 'n', 'lk', 'f', 'g', 'e', 'p', 'u', 'k', 'wd', 'os')
  -- Repeated, because the first answer was lost: nothing may be put back twice.
  if h[2] ~= epoch then return '1' end
  redis.call('HDEL', host, 'lk', 'at')
  local lock = h[6] and PAUSED
  if lock then redis.call('HSET', host, 'lk', lock) end
  local flight, ungranted = flight_of(key, epoch), 0
  for i = at + 6 + 2 * r, at + 8, -2 do
    local index, behind, unasked, rests = string.match(ARGV[i], '^(%d+)(b?)(u?)d?(%d*)$')
    local item = ARGV[i + 1]
    local grant = h[5] and grant_of(redis.call('LINDEX', flight, index))
    redis.call('LSET', flight, index, '')
    if grant and unasked ~= '' then item = with_grant(item, grant) end
    if grant and unasked == '' then
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
  count('q', r - ungranted)
  count('w', ungranted)
  count('l', -r)
  local n = tonumber(h[1]) + r - ungranted
  local not_before = string.format('%d', now + rest)
  redis.call('HSET', host, 'n', r == ungranted and h[1] or n, 'na', not_before)
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
  answer[#answer + 1] = release(i)
  i = i + 8 + 2 * tonumber(ARGV[i + 7])
end
return table.concat(answer)
