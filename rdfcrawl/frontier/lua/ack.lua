-- Commits batches whose children are queued and whose documents are stored.
-- ARGV: fill; per batch: key, epoch, n, n x index of an item that is given up and kept
-- for `retry` (with an 'o' if the next run retries it), m, m x (index, outcome of a
-- possibly granted item: '-' not requested, else the hash of its useful content; see
-- `schedule.lua`).
-- Returns one character per batch: 1 done, 0 the lease was lost (its URIs are crawled
-- again). 0 also if the key is still locked: the server has lost the release in a
-- crash, and perhaps the children and the returned items.
local results, done, failed = {}, 0, 0
local owed = 0
local MOST_FAILED = 100000 -- per partition

local function keep_failed(key, flight, at, n)
  if redis.call('LLEN', T .. ':failed') >= MOST_FAILED then return end
  for i = at, at + n - 1 do
    local index, mark = string.match(ARGV[i], '^(%d+)(o?)$')
    local item = redis.call('LINDEX', flight, index)
    if item and item ~= '' then
      mark = mark == 'o' and OWED or ''
      redis.call('RPUSH', T .. ':failed', mark .. key .. '\0' .. item)
      if mark == OWED then owed = owed + 1 end
    end
  end
end

local function is_new(domain, hash)
  local name = domain .. ' ' .. hash
  if has_mark('text', name) then return false end
  set_mark('text', name)
  return true
end

-- Items without an outcome were not useful.
local function settle_all(key, domain, items, at, n)
  local outcomes, is_any = {}, false
  for i = at, at + 2 * n - 1, 2 do outcomes[tonumber(ARGV[i])] = ARGV[i + 1] end
  if not level then open_seen() end
  for i, item in ipairs(items) do
    local grant = grant_of(item)
    if grant then
      local found = outcomes[i - 1] or ''
      local is_worth = found ~= '' and found ~= '-' and is_new(domain, found)
      settle(domain, grant, found == '-' and found or is_worth and '1' or '0')
      is_any = true
    end
  end
  if is_any then look_at(domain) end
end

local MOST_ARGUMENTS = 1000
local function each_part(names, see)
  for i = 1, #names, MOST_ARGUMENTS do
    see(i, unpack(names, i, math.min(i + MOST_ARGUMENTS - 1, #names)))
  end
end

-- First the leases, then the batches: a few commands for all leases, not two for each.
-- They end before anything is added (see `prelude.lua`).
local batches, names, at = {}, {}, 2
while at <= #ARGV do
  local n = tonumber(ARGV[at + 2])
  batches[#batches + 1] = at
  names[#names + 1] = ARGV[at + 1] .. ':' .. ARGV[at]
  at = at + 4 + n + 2 * tonumber(ARGV[at + 3 + n])
end

local held, hosts, ended, flights = {}, {}, {}, {}
each_part(names, function(first, ...)
  for i, score in ipairs(redis.call('ZMSCORE', T .. ':lease', ...)) do held[first + i - 1] = score end
end)
for i, at in ipairs(batches) do
  local key, epoch = ARGV[at], ARGV[at + 1]
  local h = held[i] and redis.call('HMGET', host_of(key), 'lk', 'e')
  if h and h[1] ~= epoch then
    hosts[i] = h
    ended[#ended + 1] = names[i]
    flights[#flights + 1] = flight_of(key, epoch)
  end
end
each_part(ended, function(_, ...) redis.call('ZREM', T .. ':lease', ...) end)

for i, at in ipairs(batches) do
  local key, n, h = ARGV[at], tonumber(ARGV[at + 2]), hosts[i]
  if h then
    local flight = flight_of(key, ARGV[at + 1])
    local items = redis.call('LRANGE', flight, 0, -1)
    for _, item in ipairs(items) do
      if item ~= '' then done = done + 1 end
    end
    if n > 0 then keep_failed(key, flight, at + 3, n) end
    failed = failed + n
    if h[2] then
      settle_all(key, domain_of_host(key, h[2]), items, at + 4 + n, tonumber(ARGV[at + 3 + n]))
    end
  end
  results[i] = h and '1' or '0'
end
each_part(flights, function(_, ...) redis.call('DEL', ...) end)
count('l', -done)
count('done', done)
count('failed', failed)
count('owed', owed)
if level then close_seen(0, tonumber(ARGV[1])) end
return table.concat(results)
