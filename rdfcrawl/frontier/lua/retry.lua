-- Queues given-up URIs again.
-- ARGV: list ('failed', 'dead', 'unlikely', or 'owed': those of 'failed' that the next
-- run retries), most URIs to read, a key (optional: only its URIs, as if they had never
-- left the queue).
-- They have all lives and tries again, but count as tried, so that redirect targets
-- which they marked as seen are fetched all the same.
-- Returns their number; without a key, that of all read ones.
local name, most, only = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local list = T .. ':' .. (name == 'owed' and 'failed' or name)
local entries = redis.call('LPOP', list, most) or {}
local by_key, held = {}, 0

local function as_new(item)
  local head = (string.byte(item, 1) or 0) % 16 + 64
  return (string.gsub(string.char(head) .. string.sub(item, 2), '%z\4%d+$', ''))
end

-- Queues items of a key; those that count for a quota wait for an epoch. Returns how
-- many are queued.
local function queue_or_wait(key, items, domain)
  local queued = {}
  for _, item in ipairs(items) do
    if domain and is_counted(item) then
      local _, letter = string.match(item, GRANT)
      local source = letter == 's' and 's' or 'd'
      wait_for_epoch(domain, key, source, RETRY_BAND, nil, as_new(without_grant(item)))
      held = held + 1
    else
      queued[#queued + 1] = only and item or as_new(item)
    end
  end
  if #queued < #items then look_at(domain) end
  local band = only and LINK_BAND or RETRY_BAND
  if #queued > 0 then redis.call('RPUSH', queue_of(key, band), unpack(queued)) end
  return #queued
end

local n_queued, n_owed = 0, 0
for _, entry in ipairs(entries) do
  local is_owed = string.sub(entry, 1, 1) == OWED
  local key, item = string.match(entry, '^\1?([^%z]*)%z(.*)$')
  if name == 'owed' and not is_owed or only and key ~= only then
    redis.call('RPUSH', list, entry)
  else
    by_key[key] = by_key[key] or {}
    table.insert(by_key[key], item)
    n_queued, n_owed = n_queued + 1, n_owed + (is_owed and 1 or 0)
  end
end
for key, items in pairs(by_key) do
  local host = host_of(key)
  local h = redis.call('HMGET', host, 'n', 'lk', 'g', 'e', 'ra')
  local queued = queue_or_wait(key, items, h[4] and domain_of_host(key, h[4]))
  local n = tonumber(h[1] or 0) + queued
  local now, asked = now_ms(), tonumber(h[5] or 0)
  local rests = name == 'owed' and asked > now -- within its Retry-After
  if only then
    local due = redis.call('HGET', host, 'na')
    rests, asked = due and true, tonumber(due or 0)
    end_deferral(key, redis.call('HEXISTS', host, 'f') == 1)
  elseif not rests then
    redis.call('HDEL', host, 'f', 'fs', 'ra', 'na', 'u', 'wd')
    redis.call('ZREM', T .. ':down', key)
  end
  redis.call('HSET', host, 'n', n)
  make_due(key, n, h[2], rests and asked or now, crowd_of(key, h[3]))
end
count('q', n_queued - held)
count('w', held)
count(name == 'dead' and 'dead' or 'done', -n_queued)
count('owed', -n_owed)
if name == 'unlikely' then count('un', -n_queued) end
return (name == 'owed' or only) and n_queued or #entries
