-- Operations of an operator on a key of the partition.
-- ARGV: 'pause' or 'resume', key; 'delay', key, ms or '' for none; 'budget', key, most
-- URIs (0: no limit) or '' for that of its spider; 'drop', key; 'drop waiting', key,
-- name of a URI that waits for an epoch, ....
-- Returns {-1} if the key is not here, else {1 if something has changed, waiting URIs
-- before, epoch of the lease that locks it or ''}.
-- A paused key is not claimed; a visit in progress goes on to its end, and then the key
-- stays locked. Dropped URIs stay in the seen set, as marks.
local action, key, value = ARGV[1], ARGV[2], ARGV[3]
local host = host_of(key)
local h = redis.call('HMGET', host, 'n', 'lk', 'g', 'e', 'p', 'fs', 'na')
local n, lock, crowd = tonumber(h[1] or 0), h[2], crowd_of(key, h[3])
local domain = h[4] and domain_of_host(key, h[4])
local actions = {}

function actions.pause()
  if h[5] then return 0 end
  make_unready(key, crowd)
  redis.call('ZREM', T .. ':down', key)
  redis.call('HSET', host, 'p', string.format('%d', now_ms()))
  if not lock then redis.call('HSET', host, 'lk', PAUSED) end
  redis.call('SADD', T .. ':paused', key)
  return 1
end

function actions.resume()
  if not h[5] then return 0 end
  redis.call('HDEL', host, 'p')
  redis.call('SREM', T .. ':paused', key)
  if lock ~= PAUSED then return 1 end
  redis.call('HDEL', host, 'lk')
  if h[6] and n > 0 then redis.call('ZADD', T .. ':down', 'NX', h[6], key) end
  make_due(key, n, false, math.max(now_ms(), tonumber(h[7] or 0)), crowd)
  return 1
end

local function set(field)
  if redis.call('HGET', host, field) == (value ~= '' and value) then return 0 end
  if value == '' then
    redis.call('HDEL', host, field)
  else
    redis.call('HSET', host, field, value)
  end
  return 1
end

function actions.delay() return set('od') end
function actions.budget() return set('ob') end

-- Returns the grants of dropped URLs, as none was requested.
local function give_back(items)
  for _, item in ipairs(items) do
    local grant = grant_of(item)
    if grant then settle(domain, grant, '-') end
  end
end

function actions.drop()
  if n == 0 then return 0 end
  for _, one in ipairs(domain and stored_of(key) or {}) do give_back({one[2]}) end
  for band = 0, REFRESH_BAND do
    if domain then give_back(redis.call('LRANGE', queue_of(key, band), 0, -1)) end
    redis.call('UNLINK', queue_of(key, band))
  end
  if domain then give_back(redis.call('ZRANGE', deferred_of(key), 0, -1)) end
  redis.call('UNLINK', deferred_of(key))
  redis.call('HDEL', host, 'wd', 'u', unpack(STORED))
  redis.call('HDEL', host, unpack(REST))
  make_unready(key, crowd)
  redis.call('ZREM', T .. ':down', key)
  redis.call('HSET', host, 'n', 0)
  count('q', -n)
  count('known', n)
  if domain then look_at(domain) end
  return 1
end

actions['drop waiting'] = function()
  local dropped = 0
  for i = 3, domain and #ARGV or 0 do
    local text = redis.call('HGET', items_of(domain), ARGV[i])
    if text and string.match(text, '^([^%z]*)%z') == key then
      redis.call('HDEL', items_of(domain), ARGV[i])
      redis.call('ZREM', waiting_by('s', domain), ARGV[i])
      redis.call('ZREM', waiting_by('d', domain), ARGV[i])
      dropped = dropped + 1
    end
  end
  count('w', -dropped)
  count('known', dropped)
  return dropped
end

if redis.call('EXISTS', host) == 0 then return {-1} end
return {actions[action](), n, lock and lock ~= PAUSED and lock or ''}
