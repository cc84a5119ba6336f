-- Keeps a pinged sitemap until a worker takes it. T is the prefix of the crawl, not of
-- a partition.
-- ARGV: URL, host, registered domain, most pings per hour of a host, of a domain and in
-- total (0: no limit), most waiting sitemaps.
-- Returns a word and a number: 'none', no such crawl; 'full', too many sitemaps wait;
-- 'late', too many pings in this hour, and its remaining seconds; 'kept', and the time
-- of the ping in ms.
local url, host, domain = ARGV[1], ARGV[2], ARGV[3]
local waiting = T .. ':pings'
if redis.call('EXISTS', T .. ':conf') == 0 then return {'none', 0} end
if redis.call('HEXISTS', waiting, url) == 0 and redis.call('HLEN', waiting) >= tonumber(ARGV[7]) then
  return {'full', 0}
end
local t = redis.call('TIME')
local hour = math.floor(t[1] / 3600)
local counts = T .. ':pings:' .. hour
local fields = {'host ' .. host, 'domain ' .. domain, 'all'}
for i, field in ipairs(fields) do
  local most = tonumber(ARGV[3 + i])
  if most > 0 and tonumber(redis.call('HGET', counts, field) or 0) >= most then
    return {'late', (hour + 1) * 3600 - t[1]}
  end
end
for i, field in ipairs(fields) do
  if tonumber(ARGV[3 + i]) > 0 then redis.call('HINCRBY', counts, field, 1) end
end
redis.call('EXPIRE', counts, 7200)
local mark = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HSET', waiting, url, mark)
return {'kept', mark}
