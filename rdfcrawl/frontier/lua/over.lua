-- URIs over a budget, which are kept until it is raised, as long as there is room.
local MOST_OVER_OF_KEY = 10000 -- or per domain, so that one trap leaves room for others

-- Returns the registered domain of a key and its bucket. `place` is length:bucket,
-- preceded by '-' if the key stands for its domain and is not counted (as most are), or
-- by '+' if it is away and counted in another partition.
local function domain_of(key, place)
  local length, bucket = string.match(place, '^[-+]?(%d+):(%d+)$')
  return string.sub(key, -tonumber(length)), bucket
end

local function over_field(key, fingerprint) return key .. ' ' .. fingerprint end

-- Keeps a URI over a budget. Entries refused by the domain's budget begin with 'd', and
-- are counted there.
local function refuse(why, key, place, fingerprint, item, most_over)
  local over, field = T .. ':over', over_field(key, fingerprint)
  if redis.call('HEXISTS', over, field) == 1 then return 'R' end
  local counts, counter = host_of(key), 'o'
  if why == 'D' then
    local domain, bucket = domain_of(key, place)
    counts, counter, item = counts_of(bucket), domain .. ' o', 'd' .. item
  end
  local n = tonumber(redis.call('HGET', counts, counter) or 0)
  if n < MOST_OVER_OF_KEY and redis.call('HLEN', over) < most_over then
    redis.call('HSET', over, field, item)
    redis.call('HINCRBY', counts, counter, 1)
  end
  return why
end

local function forget_over(key, place, fingerprint)
  local over, field = T .. ':over', over_field(key, fingerprint)
  local item = redis.call('HGET', over, field)
  if not item then return end
  redis.call('HDEL', over, field)
  if string.sub(item, 1, 1) == 'd' then
    local domain, bucket = domain_of(key, place)
    redis.call('HINCRBY', counts_of(bucket), domain .. ' o', -1)
  else
    redis.call('HINCRBY', host_of(key), 'o', -1)
  end
end
