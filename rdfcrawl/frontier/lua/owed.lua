-- Lists the owed URIs of a crawl: hosts with work that refuse, or have only deferred
-- URIs.
-- ARGV: most hosts in the list.
-- Returns {URIs, hosts, {key, URIs, ms since the first refusal, ms until it is due,
-- ...}, URIs of other hosts that were given up and that the next run retries}; the
-- longest refusing hosts come first. `os` is the time since when a host has owed URIs,
-- set in earlier runs.
local most, now = tonumber(ARGV[1]), now_ms()
local n_uris, hosts = 0, redis.call('ZRANGE', T .. ':down', 0, -1, 'WITHSCORES')
local listed = {}
for i = 1, #hosts, 2 do
  local key = hosts[i]
  local h = redis.call('HMGET', host_of(key), 'n', 'g', 'os')
  local n, crowd = tonumber(h[1] or 0), crowd_of(key, h[2])
  n_uris = n_uris + n
  if #listed < 4 * most then
    local due = redis.call('ZSCORE', crowd and waiting_of(crowd) or T .. ':ready', key)
    listed[#listed + 1] = key
    listed[#listed + 1] = n
    listed[#listed + 1] = math.max(0, math.floor(now - tonumber(h[3] or hosts[i + 1])))
    listed[#listed + 1] = due and math.max(0, math.floor(tonumber(due) - now)) or 0
  end
end
local n_failed = tonumber(redis.call('HGET', T .. ':cnt', 'owed') or 0)
return {n_uris, #hosts / 2, listed, n_failed}
