-- URLs of registered domains that have a quota (Algorithm 6.1): they wait for an epoch of
-- their domain, in T:es (sitemaps list them) and T:ed (links lead to them), best first,
-- and are granted to the queues of their hosts by `epochs.lua`. A grant is good for one
-- request: an item that may have been requested and is put back waits for a new grant.
--
-- Invariants, each kept by every script:
--   w = URIs in T:ew:*                               (field of T:cnt)
--   T:ew = union of T:es and T:ed
--   `o` of T:e:<domain> = its granted URIs in queues and in flight
--   c + gs + gd + gf <= its quota, for URIs granted or carried in this epoch
local GRANT = '%z\5(%d+):([sdf])(%d+)$' -- last field of a granted item
local BAND_WEIGHT = 2 ^ 40 -- exceeds any order of arrival

local function epoch_of(domain) return T .. ':e:' .. domain end
local function waiting_by(source, domain) return T .. ':e' .. source .. ':' .. domain end
local function items_of(domain) return T .. ':ew:' .. domain end
local function outcomes_of(source, domain) return T .. ':eo:' .. source .. ':' .. domain end

-- Pages, dumps and requests of spiders count; robots.txt and requests for sources do
-- not.
local function is_counted(item)
  local kind = (string.byte(item, 1) or 15) % 16
  return kind < 2 or kind == 6
end

local function with_grant(item, grant)
  if not string.find(item, '\0', 3, true) then item = item .. '\0\0' end -- no parent
  return item .. grant
end

local function without_grant(item) return (string.gsub(item, GRANT, '')) end

-- A letter encodes how a URL was found, and its band: 'A' + band, or 'P' + band.
local function source_of(code)
  if code < 65 or code > 90 then return nil end
  if code >= 80 then return 'd', code - 80 end
  return 's', code - 65
end

local function score_of(domain, band)
  local rank = -1 -- URLs granted before come first
  for i, each in ipairs(ORDINARY_BANDS) do
    if each == band then rank = i end
  end
  return rank * BAND_WEIGHT + redis.call('HINCRBY', epoch_of(domain), 'seq', 1)
end

-- `length` is that of the domain, as in `e` of a host.
local function domain_of_host(key, length) return string.sub(key, -tonumber(length)) end

local function look_at(domain) redis.call('ZADD', T .. ':epochs', 'LT', 0, domain) end

-- `name` is its fingerprint, or nil.
local function wait_for_epoch(domain, key, source, band, name, item)
  local score = score_of(domain, band)
  name = name or string.format('r%d', score)
  redis.call('HSET', items_of(domain), name, key .. '\0' .. band .. item)
  redis.call('ZADD', waiting_by(source, domain), score, name)
end

-- Updates a waiting URL that was found again.
local function found_again(domain, source, band, name)
  if redis.call('HEXISTS', items_of(domain), name) == 1 then
    redis.call('ZADD', waiting_by(source, domain), 'LT', score_of(domain, band), name)
    return true
  end
end

-- Returns a granted item, which may have been requested, to the waiting ones.
local function ungrant(domain, key, item, grant)
  local _, letter = string.match(grant, GRANT)
  redis.call('HINCRBY', epoch_of(domain), 'o', -1)
  wait_for_epoch(domain, key, letter == 's' and 's' or 'd', RETRY_BAND, nil, item)
end

-- Records the outcome of a granted item: '1' useful, '0' not, '-' not requested, which
-- costs nothing.
local function settle(domain, grant, outcome)
  local state = epoch_of(domain)
  local epoch, letter, order = string.match(grant, GRANT)
  local is_now = redis.call('HGET', state, 'ep') == epoch
  redis.call('HINCRBY', state, 'o', -1)
  if outcome == '-' then
    redis.call('HINCRBY', state, is_now and 'g' .. letter or 'c', -1)
  elseif is_now and letter ~= 'f' then
    redis.call('SETRANGE', outcomes_of(letter, domain), tonumber(order) - 1, outcome)
  end
end

local function grant_of(item)
  local at = string.find(item, GRANT)
  return at and string.sub(item, at)
end
