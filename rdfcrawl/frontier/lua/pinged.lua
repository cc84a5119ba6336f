-- Removes pinged sitemaps that are queued, unless pinged again since.
-- ARGV: URL and time of the ping, for each.
-- Returns how many were removed.
local waiting, n = T .. ':pings', 0
for i = 1, #ARGV, 2 do
  if redis.call('HGET', waiting, ARGV[i]) == ARGV[i + 1] then
    n = n + redis.call('HDEL', waiting, ARGV[i])
  end
end
return n
