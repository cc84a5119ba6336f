-- Leases due keys, each with a batch of its URIs.
-- ARGV: most keys, most URIs per key, lease ms, default delay ms, window ms, most keys
-- of crowds beyond their turns, name and number of the claim ('' for none), ms for
-- which due keys are left to others (optional).
-- A batch has the URIs that fit into the window at the key's delay. An item that has
-- lost a lease is handed out alone, so that it takes no others with it if it kills its
-- worker again. If the host refused last time, other URIs are tried every other time.
-- Deferred URIs that are due come last.
-- A claim repeated under its number, after a lost reply, returns the same result; each
-- name has one claim at a time.
-- A due crowd gives one key, and is due again behind all keys that are due now. Its
-- other keys are only given if nothing else is due.
-- Returns {ms until the next key is due or -1, {key, epoch, delay ms, failures, ms
-- since the first of them, URL refused last or '' if the host has responded since,
-- whether it is in a crowd, delay ms set by an operator, whether the host has ever
-- responded, item, ...}, ...}.
local most_keys, most_items = tonumber(ARGV[1]), tonumber(ARGV[2])
local lease, default_delay, window = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local most_spare = tonumber(ARGV[6])
local name, number = ARGV[7] or '', ARGV[8]
local grace = tonumber(ARGV[9] or 0)
local clock, latest, offset = read_clock()
local now = math.max(clock + offset, latest)
local now_text, lease_end = string.format('%d', now), string.format('%d', now + lease)

local function visit_of(key, epoch, h, items)
  local since = now - tonumber(h[3] or now)
  local visit = {
    key, epoch, tonumber(h[1] or default_delay), tonumber(h[2] or 0), since, h[4] or '',
    crowd_of(key, h[5]) and 1 or 0, tonumber(h[6] or 0), h[7] and 1 or 0,
  }
  for _, item in ipairs(items) do visit[#visit + 1] = item end
  return visit
end

-- Returns the result of an earlier claim, without lost leases.
local function given_before(leases)
  local visits = {}
  for epoch, key in string.gmatch(leases, '(%d+):([^%z]*)%z') do
    if redis.call('HGET', host_of(key), 'lk') == epoch then
      local h = redis.call('HMGET', host_of(key), 'd', 'f', 'fs', 'u', 'g', 'od', 'k')
      local items = redis.call('LRANGE', flight_of(key, epoch), 0, -1)
      visits[#visits + 1] = visit_of(key, tonumber(epoch), h, items)
    end
  end
  return visits
end

local function take_bands(key, most, items, stored)
  for _, band in ipairs(ORDINARY_BANDS) do
    if #items == most then break end
    if #stored > 0 then take_stored(most, items, stored, tostring(band)) end
    if #items == most then break end
    local popped = redis.call('LPOP', queue_of(key, band), most - #items)
    for _, item in ipairs(popped or {}) do
      items[#items + 1] = item ~= '' and item or '?' -- '' stands for a finished item
    end
  end
end

-- Refetched pages get half of the turns if other URIs wait. The odd one alternates.
local function take_ordinary(key, most, items, stored)
  local again, kept = queue_of(key, REFRESH_BAND), 0
  local n_again = redis.call('LLEN', again)
  if n_again > 0 then
    local turns = most - #items
    kept = math.min(n_again, math.floor(turns / 2))
    if turns % 2 == 1 and n_again > kept then
      if redis.call('HDEL', host_of(key), 'rf') == 1 then
        kept = kept + 1
      else
        redis.call('HSET', host_of(key), 'rf', 1)
      end
    end
  end
  take_bands(key, most - kept, items, stored)
  if n_again > 0 and #items < most then
    for _, item in ipairs(redis.call('LPOP', again, most - #items) or {}) do
      items[#items + 1] = item ~= '' and item or '?'
    end
  end
end

local function take(key, most, failures, stored)
  local retries = queue_of(key, RETRY_BAND)
  local items = {}
  local retry = failures % 2 == 1 and redis.call('LINDEX', retries, 0)
  if retry and is_suspect(retry) then
    take_ordinary(key, 1, items, stored)
    if #items > 0 then return items end
  end
  for i, item in ipairs(redis.call('LRANGE', retries, 0, most - 1)) do
    if is_suspect(item) then
      if i == 1 then items[1] = item end
      break
    end
    items[i] = item
  end
  if #items > 0 then
    redis.call('LPOP', retries, #items)
    if is_suspect(items[1]) then return items end
  end
  take_ordinary(key, most, items, stored)
  return items
end

local function take_deferred(key, most, items)
  if items[1] and is_suspect(items[1]) then return end
  local place = deferred_of(key)
  for _, item in ipairs(redis.call('ZRANGEBYSCORE', place, '-inf', now, 'LIMIT', 0, most - #items)) do
    local is_alone = is_suspect(item)
    if is_alone and #items > 0 then return end
    redis.call('ZREM', place, item)
    items[#items + 1] = item
    if is_alone then return end
  end
end

local ticket, taken, leases, crowded = T .. ':claim:' .. name, 0, {}, 0
local visits = {0}
if name ~= '' then
  local before = redis.call('GET', ticket)
  local last, given = string.match(before or '', '^(%d+) (.*)$')
  if last == number then
    visits = given_before(given)
    table.insert(visits, 1, -1)
    return visits
  end
end

-- One command for many leases: ends has the time and the name of each.
local ends, MOST_ARGUMENTS = {}, 1000
local function store_ends()
  if #ends > 0 then redis.call('ZADD', T .. ':lease', unpack(ends)) end
  ends = {}
end

-- Leases a key that waits no longer.
local function lease_key(key)
  local host = host_of(key)
  local h = redis.call('HMGET', host, 'd', 'f', 'fs', 'u', 'g', 'od', 'k', 'n', 'ep', unpack(STORED))
  local delay = math.max(tonumber(h[1] or default_delay), tonumber(h[6] or 0))
  local most = math.max(1, math.min(most_items, math.floor(window / math.max(delay, 1))))
  local n, stored = tonumber(h[8] or 0), stored_in(h, 10, key)
  local items = take_links(key, most, n, stored) or take(key, most, tonumber(h[2] or 0), stored)
  if #items < most and n > #items then take_deferred(key, most, items) end
  if #items == 0 and redis.call('ZCARD', deferred_of(key)) > 0 then
    make_due(key, n, nil, now, crowd_of(key, h[5]))
  elseif #items > 0 then
    -- From the clock, so that no epoch is repeated after a loss of the last claims.
    local epoch = math.max(tonumber(h[9] or 0) + 1, now)
    local of_epoch = epoch == now and now_text or string.format('%d', epoch)
    local left = string.format('%d', n - #items)
    local rest = store_rest(key, stored)
    redis.call('HSET', host, 'n', left, 'lk', of_epoch, 'ep', of_epoch, unpack(rest))
    redis.call('RPUSH', flight_of(key, of_epoch), unpack(items))
    taken = taken + #items
    visits[#visits + 1] = visit_of(key, epoch, h, items)
    local lease_name = of_epoch .. ':' .. key
    leases[#leases + 1] = lease_name .. '\0'
    ends[#ends + 1] = lease_end
    ends[#ends + 1] = lease_name
    if #ends >= MOST_ARGUMENTS then store_ends() end
  end
end

local function lease_of_crowd(place)
  local waiting = waiting_of(string.sub(place, 2))
  local first = redis.call('ZRANGE', waiting, 0, 1, 'WITHSCORES')
  local key, due, next_due = first[1], tonumber(first[2]), tonumber(first[4])
  redis.call('ZREM', T .. ':ready', place)
  if due > now then -- the key that was due first no longer waits
    redis.call('ZADD', T .. ':ready', due, place)
    return
  end
  redis.call('ZREM', waiting, key)
  if next_due then
    redis.call('ZADD', T .. ':ready', math.max(now, next_due), place)
    crowded = crowded - 1
  end
  lease_key(key)
end

local function lease_due(most)
  local until_ms, alone = now - grace, {}
  local due = redis.call('ZRANGEBYSCORE', T .. ':ready', '-inf', until_ms, 'LIMIT', 0, most)
  for _, key in ipairs(due) do
    if string.byte(key) ~= 64 then alone[#alone + 1] = key end -- '@'
  end
  for i = 1, #alone, MOST_ARGUMENTS do
    redis.call('ZREM', T .. ':ready', unpack(alone, i, math.min(i + MOST_ARGUMENTS - 1, #alone)))
  end
  for _, key in ipairs(due) do
    if string.byte(key) == 64 then lease_of_crowd(key) else lease_key(key) end
  end
  store_ends()
  return #due
end

local n_due = lease_due(most_keys)
local room = math.min(most_keys - n_due, most_spare)
while room > 0 and n_due > 0 do
  n_due = lease_due(room) -- only crowds are left
  room = room - n_due
end
count('cw', crowded)
count('q', -taken)
count('l', taken)
if taken > 0 and name ~= '' then
  redis.call('SET', ticket, number .. ' ' .. table.concat(leases), 'PX', lease)
end

local KEEP_MS = 2000 -- a host rests this much longer than needed, at most
local function keep_clock()
  local field, value
  if clock + offset < latest then
    field, value = 'off', latest - clock
  elseif clock + offset > latest + KEEP_MS then
    field, value = 'clk', clock + offset
  end
  if field and redis.call('EXISTS', T .. ':cnt') == 1 then
    -- With full memory, another claim stores it.
    redis.pcall('HSET', T .. ':cnt', field, string.format('%d', value))
  end
end

keep_clock()
local first = redis.call('ZRANGE', T .. ':ready', 0, 0, 'WITHSCORES')
visits[1] = first[2] and math.max(0, tonumber(first[2]) + grace - now) or -1
return visits
