-- Grants URLs of registered domains with a quota, and begins their epochs.
-- ARGV: 'look', most URLs, ms of an epoch (0: it ends when its quota is spent). Grants
-- URLs in the domains that are due for a look. Returns {URLs granted, ms until a domain
-- is due or -1, {missing log entries, ...}, {domain, number of its finished epoch or
-- -1, its schedule, outcomes of URLs granted to sitemaps, and to links}, ...}: these
-- domains need a new epoch.
-- ARGV: 'begin', domain, number of the finished epoch or -1, number of the next,
-- schedule, quota, share of sitemaps, log entry of the finished epoch. Returns the log
-- entry, empty if there was no epoch; or 0 if another worker was faster.
-- ARGV: 'logged', logged entries, .... Returns 0.
-- Entries stay in T:eu until they are logged, each with the time until which a worker
-- has it; after that, the worker counts as dead, and the next look returns the entry.
-- An epoch is over when its time has passed and all that it granted is done, or when
-- twice its time has passed. Unfinished URLs are carried over, and count for the next
-- epoch, too.
local now = now_ms()
local MOST_DOMAINS, MOST_LOGGED, MOST_UNLOGGED = 100, 100, 10000
local TO_LOG_MS = 5000
local totals = {s = 0, d = 0, f = 0}

local function read_epoch(domain)
  local h = redis.call('HMGET', epoch_of(domain),
    'ep', 'at', 'q', 'ns', 'c', 'gs', 'gd', 'gf', 'o')
  local e = {domain = domain, number = h[1]}
  for i, name in ipairs({'at', 'quota', 'ns', 'c', 'gs', 'gd', 'gf', 'o'}) do
    e[name] = tonumber(h[i + 1] or 0)
  end
  return e
end

local function room_of(e) return e.quota - e.c - e.gs - e.gd - e.gf end
local function first_of(source, e)
  return redis.call('ZRANGE', waiting_by(source, e.domain), 0, 0)[1]
end

-- Moves a waiting URL into the queue of its host. `letter` is the kind of grant.
local function grant(e, name, letter, touched)
  redis.call('ZREM', waiting_by('s', e.domain), name)
  redis.call('ZREM', waiting_by('d', e.domain), name)
  local text = redis.call('HGET', items_of(e.domain), name)
  redis.call('HDEL', items_of(e.domain), name)
  local key, band, item = string.match(text, '^([^%z]*)%z(.)(.*)$')
  local order = letter == 'f' and 0
    or redis.call('HINCRBY', epoch_of(e.domain), 'n' .. letter .. 'o', 1)
  item = with_grant(item, '\0\5' .. e.number .. ':' .. letter .. order)
  redis.call('RPUSH', queue_of(key, band), item)
  e['g' .. letter] = e['g' .. letter] + 1
  totals[letter] = totals[letter] + 1
  e.o = e.o + 1
  touched[key] = (touched[key] or 0) + 1
end

-- Grants both shares, rank by rank, so that a URL in both is granted where its rank is
-- better. Returns how many were granted.
local function grant_shares(e, most, touched)
  local n, is_granting = 0, true
  while is_granting do
    is_granting = false
    for _, source in ipairs({'s', 'd'}) do
      local share = source == 's' and e.ns or e.quota - e.ns
      if n < most and room_of(e) > 0 and e['g' .. source] < share then
        local name = first_of(source, e)
        if name then
          grant(e, name, source, touched)
          n, is_granting = n + 1, true
        end
      end
    end
  end
  return n
end

-- Grants further URLs when no granted URL in flight could lead to others.
local function grant_further(e, most, touched)
  local n = 0
  while n < most and room_of(e) > 0 do
    local name = first_of('s', e) or first_of('d', e)
    if not name then break end
    grant(e, name, 'f', touched)
    n = n + 1
  end
  return n
end

local function stir(touched)
  for key, n in pairs(touched) do
    local h = redis.call('HMGET', host_of(key), 'n', 'lk', 'na', 'g', 'fs', 'wd')
    local before = tonumber(h[1] or 0)
    redis.call('HSET', host_of(key), 'n', before + n)
    if h[6] then end_deferral(key, h[5]) end
    if before == 0 or h[6] then
      if h[5] then redis.call('ZADD', T .. ':down', 'NX', h[5], key) end
      make_ready(key, n, h[2], math.max(now, tonumber(h[3] or 0)), crowd_of(key, h[4]))
    end
  end
end

local function is_over(e, length)
  if length == 0 then return e.o == 0 and room_of(e) <= 0 end
  return now >= e.at + length and (e.o == 0 or now >= e.at + 2 * length)
end

-- Returns when a domain is due for the next look, or nil: after an event.
local function next_look(e, length)
  if length == 0 then return nil end
  return e.at + length > now and e.at + length or e.at + 2 * length
end

local function look_at_one(domain, most, length)
  local e = read_epoch(domain)
  if redis.call('EXISTS', items_of(domain)) == 0 then
    redis.call('ZREM', T .. ':epochs', domain)
    return 0
  end
  if not e.number then return 0, {domain, -1, '', '', ''} end
  if is_over(e, length) then
    local schedule = redis.call('HGET', epoch_of(domain), 'schedule')
    return 0, {
      domain, tonumber(e.number), schedule,
      redis.call('GET', outcomes_of('s', domain)) or '',
      redis.call('GET', outcomes_of('d', domain)) or '',
    }
  end
  local touched = {}
  local n = grant_shares(e, most, touched)
  if e.o == 0 then n = grant_further(e, most, touched) end
  if n > 0 then
    redis.call('HSET', epoch_of(domain),
      'gs', e.gs, 'gd', e.gd, 'gf', e.gf, 'o', e.o)
    stir(touched)
  end
  local due = next_look(e, length)
  if n == most then
    redis.call('ZADD', T .. ':epochs', 0, domain)
  elseif due then
    redis.call('ZADD', T .. ':epochs', due, domain)
  else
    redis.call('ZREM', T .. ':epochs', domain)
  end
  return n
end

local function take_unlogged()
  local unlogged = T .. ':eu'
  local entries = redis.call('ZRANGEBYSCORE', unlogged, '-inf', now, 'LIMIT', 0, MOST_LOGGED)
  for _, entry in ipairs(entries) do
    redis.call('ZREM', unlogged, entry) -- free memory first: see `prelude.lua`
    redis.call('ZADD', unlogged, now + TO_LOG_MS, entry)
  end
  return entries
end

local function look(most, length)
  local results, total = {0, -1, {}}, 0
  local due = redis.call('ZRANGEBYSCORE', T .. ':epochs', '-inf', now,
    'LIMIT', 0, MOST_DOMAINS)
  for _, domain in ipairs(due) do
    if total >= most then break end
    local n, to_begin = look_at_one(domain, most - total, length)
    total = total + n
    results[#results + 1] = to_begin
  end
  count('q', total)
  count('w', -total)
  for letter, n in pairs(totals) do count('g' .. letter, n) end
  local first = redis.call('ZRANGE', T .. ':epochs', 0, 0, 'WITHSCORES')
  results[1] = total
  results[2] = first[2] and math.max(0, tonumber(first[2]) - now) or -1
  results[3] = take_unlogged()
  return results
end

local function begin(domain, over, number, schedule, quota, share, details)
  local e, state, entry = read_epoch(domain), epoch_of(domain), ''
  if (e.number or '-1') ~= over then return 0 end
  redis.call('DEL', outcomes_of('s', domain), outcomes_of('d', domain))
  if e.number then
    local log = T .. ':el:' .. domain
    entry = string.format(
      '{"epoch":%s,"began_ms":%d,"ended_ms":%d,"sitemaps":%d,"links":%d,"further":%d,'
      .. '"carried":%d,%s', e.number, e.at, now, e.gs, e.gd, e.gf, e.c, details)
    redis.call('RPUSH', log, entry)
    redis.call('LTRIM', log, -MOST_LOGGED, -1)
    if redis.call('ZCARD', T .. ':eu') < MOST_UNLOGGED then
      redis.call('ZADD', T .. ':eu', now + TO_LOG_MS, entry)
    end
  end
  redis.call('HSET', state, 'ep', number, 'at', now, 'schedule', schedule, 'q', quota,
    'ns', share, 'c', e.o, 'gs', 0, 'gd', 0, 'gf', 0, 'nso', 0, 'ndo', 0, 'o', e.o)
  count('en', 1)
  look_at(domain)
  return entry
end

if ARGV[1] == 'look' then
  return look(tonumber(ARGV[2]), tonumber(ARGV[3]))
end
if ARGV[1] == 'logged' then
  redis.call('ZREM', T .. ':eu', unpack(ARGV, 2))
  return 0
end
return begin(ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8])
