-- Queues anew what was given up. ARGV: which list ('failed' or 'dead'), most URIs.
-- They have all their lives and tries again, but count as tried, so that redirect targets
-- which they had marked as seen are fetched all the same. Returns how many there were.
local name, most = ARGV[1], tonumber(ARGV[2])
local entries = redis.call('LPOP', T .. ':' .. name, most) or {}
local by_key = {}

local function as_new(item)
  local head = (string.byte(item, 1) or 0) % 16 + 64
  return (string.gsub(string.char(head) .. string.sub(item, 2), '%z\4%d+$', ''))
end

for _, entry in ipairs(entries) do
  local key, item = string.match(entry, '^([^%z]*)%z(.*)$')
  by_key[key] = by_key[key] or {}
  table.insert(by_key[key], as_new(item))
end
for key, items in pairs(by_key) do
  local host = host_of(key)
  local h = redis.call('HMGET', host, 'n', 'lk', 'g')
  local n = tonumber(h[1] or 0) + #items
  redis.call('RPUSH', queue_of(key, RETRY_BAND), unpack(items))
  redis.call('HDEL', host, 'f', 'fs', 'ra', 'na')
  redis.call('ZREM', T .. ':down', key)
  redis.call('HSET', host, 'n', n)
  make_ready(key, n, h[2], now_ms(), crowd_of(key, h[3]))
end
count('q', #entries)
count(name == 'dead' and 'dead' or 'done', -#entries)
return #entries
