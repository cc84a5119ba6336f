-- Queues new URIs.
-- ARGV: most URIs per key, most keys per registered domain, most URIs per domain (0: no
-- limit), fill, most URIs kept of those over these budgets, mode ('add', or 'look',
-- which changes nothing), most keys of a domain in its partition (0: no limit); then
-- per key: key, length and bucket of its domain (see `domain_of`), n, n x (fingerprint,
-- item).
-- item: band digit + payload; a letter instead of the digit for a URI that waits for an
-- epoch (`schedule.lua`); 'k' to only mark the URI as seen; 'f' to forget a mark: a
-- change for which a page was refetched before its last one.
-- Returns one character per URI: 1 new, 0 seen before, F the key's budget is spent, D
-- its domain's is, R one of them, and the URI was kept before; A the key is away: add
-- the URI in another partition, with '+'. In mode 'look', which also works on a full
-- server: W new; L new, but an away key would reach its budget with the preceding ones.
-- A domain has a limited number of keys in its partition. Later keys are sent away and
-- marked: this is decided once, and counted here.
local most_of_key, most_keys, most_of_domain = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local fill, most_over, only_looks = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == 'look'
local most_here = tonumber(ARGV[7])
local has_budget = most_of_key > 0 or most_of_domain > 0
local OF_DOMAIN, IS_AWAY = 45, 43 -- '-', '+': see `domain_of`
local SITEMAP = 2 -- kind of robots.txt and sitemaps (`records.Kind`): no budget
local AGAIN = string.format('%d', REFRESH_BAND) -- refetched URIs were accepted before

local ARGV = ARGV -- used per URI
local results, fresh_total, held_total, known_total, new_hosts = {}, 0, 0, 0, 0
local now, now_text

-- Returns how many more URIs a key may have, the letter for refused ones, and the
-- number of keys of its domain, including this one.
local function room_of(key, place, accepted, is_counted, most)
  local room, why, n_keys = math.huge, 'F', nil
  local domain, bucket = domain_of(key, place)
  if most > 0 then room = math.max(0, most - accepted) end
  if most_of_domain > 0 then
    local n = tonumber(call('HGET', counts_of(bucket), domain .. ' a') or 0)
    if most_of_domain - n < room then
      room, why = math.max(0, most_of_domain - n), 'D'
    end
  end
  if is_counted then
    n_keys = call('HINCRBY', counts_of(bucket), domain, 1)
    if most_keys > 0 and n_keys > most_keys then
      room, why = 0, 'D'
    end
  end
  return room, why, n_keys
end

-- The same for a key that is away, whose domain counts it elsewhere.
local function own_room(accepted, most)
  return most > 0 and math.max(0, most - accepted) or math.huge, 'F'
end

local function uncount(key, place, n_keys)
  local domain, bucket = domain_of(key, place)
  if n_keys == 1 then
    call('HDEL', counts_of(bucket), domain)
  else
    call('HINCRBY', counts_of(bucket), domain, -1)
  end
end

local function has_links(at, n)
  for i = at, at + 2 * n - 1, 2 do
    local band = string.byte(ARGV[i + 1])
    if band ~= 107 and band ~= 102 then return true end -- 'k', 'f'
  end
  return false
end

-- Whether a new key over the limit is sent away. Keys with a clock or marked URIs here
-- stay.
local function may_go(key, room, at, n)
  if room == 0 or only_looks or not has_links(at, n) then return false end
  return not has_mark('here', key) and call('EXISTS', clock_of(key)) == 0
end

-- Returns whether an unknown key is away, or is sent away now. `n_keys` is the number
-- of keys of its domain, including this one.
local function is_away(key, place, room, n_keys, at, n)
  if not n_keys then -- in mode 'look'
    local domain, bucket = domain_of(key, place)
    n_keys = tonumber(call('HGET', counts_of(bucket), domain) or 0) + 1
  end
  if n_keys <= most_here then return false end
  if has_mark('away', key) then
    if not only_looks then uncount(key, place, n_keys) end
    return true
  end
  if not may_go(key, room, at, n) then return false end
  set_mark('away', key)
  return true
end

local byte, format = string.byte, string.format -- used per URI
local function is_free(item, band)
  return band == AGAIN or byte(item, 2) % 16 == SITEMAP
end

-- Returns the origin and the band in the letter of a URL that waits for an epoch, or
-- false.
local ways = setmetatable({}, {__index = function(known, band)
  local source, digit = source_of(byte(band))
  known[band] = source and {source, digit} or false
  return known[band]
end})

-- Makes a key with its first URI ready.
local function make_first_ready(key, n, lock, not_before, crowd)
  if not now then
    now = now_ms()
    now_text = format('%d', now)
  end
  local is_due = not not_before or tonumber(not_before) <= now
  make_ready(key, n, lock, is_due and now_text or not_before, crowd)
end

-- Returns {field, value, ...} to store new URIs with their key; nil if they do not fit,
-- or if others of the key are in lists. `h` has the stored ones from place 9 on.
local function fields_for(key, h, bands, waiting, fresh)
  if waiting + fresh > N_STORED then return nil end
  local stored, fields = stored_in(h, 9, key), {}
  local last = #stored
  if waiting ~= last or h[9 + last] then return nil end
  local before = last > 0 and stored[last][2]
  for band, list in pairs(bands) do
    for _, item in ipairs(list) do
      if band == AGAIN or #item > MAX_STORED then return nil end
      last = last + 1
      store_in(fields, last, band, item, before)
      before = item
    end
  end
  return fields
end

local function add_to(key, place, at, n)
  local host = host_of(key)
  -- The number of free URIs (`x`) only matters if there are any; else `n` is read
  -- again.
  local h = call('HMGET', host, 'n', 'a', 'lk', 'na', 'g', has_budget and 'x' or 'n', 'ob', 'wd', unpack(STORED))
  local waiting, accepted = tonumber(h[1] or 0), tonumber(h[2] or 0)
  local free, most = has_budget and tonumber(h[6] or 0) or 0, most_of_key
  if h[7] then -- budget set by an operator
    free, most = tonumber(call('HGET', host, 'x') or 0), tonumber(h[7])
  end
  local bands, fresh, known, fresh_free, held, is_noted = {}, 0, 0, 0, 0, false
  local room, why, n_keys = math.huge, nil, nil
  local how = string.byte(place)
  local is_counted = accepted == 0 and how ~= OF_DOMAIN and how ~= IS_AWAY
  if how == IS_AWAY then
    room, why = own_room(accepted - free, most)
  elseif (has_budget or h[7] or is_counted) and not only_looks then
    room, why, n_keys = room_of(key, place, accepted - free, is_counted, most)
  end
  if is_counted and most_here > 0 and is_away(key, place, room, n_keys, at, n) then
    for _ = 1, n do results[#results + 1] = 'A' end
    return
  end
  local n_results = #results
  for i = at, at + 2 * n - 1, 2 do
    local fingerprint, item = ARGV[i], ARGV[i + 1]
    local band = sub(item, 1, 1)
    local name = bucket_of(fingerprint)
    local mark
    if band == 'f' then
      mark = '0'
      if not only_looks then n_marks = n_marks - call('SREM', name, fingerprint) end
    elseif only_looks then
      mark = 'W'
      if call('SISMEMBER', name, fingerprint) == 1 then
        mark = '0'
      elseif band ~= 'k' and not is_free(item, band) then
        if fresh >= room then mark = room == 0 and 'F' or 'L' end
        fresh = fresh + 1
      end
    elseif band ~= 'k' and fresh - fresh_free >= room and not is_free(item, band) then
      mark = '0'
      if call('SISMEMBER', name, fingerprint) == 0 then
        mark = refuse(why, key, place, fingerprint, item, most_over)
      end
    elseif call('SADD', name, fingerprint) == 0 then
      mark = '0'
      local way = ways[band]
      if way and found_again((domain_of(key, place)), way[1], way[2], fingerprint) then
        is_noted = true
      end
    else
      mark = '1'
      if band == 'k' then
        known = known + 1
      else
        fresh = fresh + 1
        if byte(item, 2) % 16 == SITEMAP or band == AGAIN then -- `is_free`
          fresh_free = fresh_free + 1
        end
        local list = bands[band]
        local way = not list and ways[band]
        if list then
          list[#list + 1] = sub(item, 2)
        elseif way then
          held = held + 1
          local domain = domain_of(key, place)
          wait_for_epoch(domain, key, way[1], way[2], fingerprint, sub(item, 2))
        else
          bands[band] = {sub(item, 2)}
        end
      end
    end
    n_results = n_results + 1
    results[n_results] = mark
  end
  if only_looks then return end
  known_total = known_total + known
  if held > 0 or is_noted then look_at((domain_of(key, place))) end
  if fresh == 0 then
    if n_keys then uncount(key, place, n_keys) end
    if known > 0 and is_counted and most_here > 0 then set_mark('here', key) end
    return
  end
  if accepted == 0 then new_hosts = new_hosts + 1 end
  local n_waiting, n_accepted = waiting + fresh - held, format('%d', accepted + fresh)
  n_waiting = waiting - held == accepted and n_accepted or format('%d', n_waiting)
  local fields = fields_for(key, h, bands, waiting, fresh - held)
  if fields then
    call('HSET', host, 'n', n_waiting, 'a', n_accepted, unpack(fields))
  else
    for band, list in pairs(bands) do call('RPUSH', queue_of(key, band), unpack(list)) end
    call('HSET', host, 'n', n_waiting, 'a', n_accepted)
  end
  if held > 0 then call('HSETNX', host, 'e', #domain_of(key, place)) end
  if fresh_free > 0 then call('HINCRBY', host, 'x', fresh_free) end
  local g = h[5]
  if accepted == 0 and how == IS_AWAY or n_keys and n_keys > CROWD_AFTER then
    g = #domain_of(key, place)
    call('HSET', host, 'g', g)
  end
  if most_of_domain > 0 and how ~= IS_AWAY then
    local domain, bucket = domain_of(key, place)
    call('HINCRBY', counts_of(bucket), domain .. ' a', fresh - fresh_free)
  end
  if h[8] and fresh > held then end_deferral(key, call('HEXISTS', host, 'f') == 1) end
  if waiting == 0 or h[8] and fresh > held then
    make_first_ready(key, fresh - held, h[3], h[4], crowd_of(key, g))
  end
  fresh_total = fresh_total + fresh
  held_total = held_total + held
end

open_seen()
local i = 8
while i <= #ARGV do
  local n = tonumber(ARGV[i + 2])
  add_to(ARGV[i], ARGV[i + 1], i + 3, n)
  i = i + 3 + 2 * n
end

count('q', fresh_total - held_total)
count('w', held_total)
count('known', known_total)
count('hosts', new_hosts)
count('seen', fresh_total + known_total)
close_seen(fresh_total + known_total, fill)
return table.concat(results)
