-- Counts, in the partition of a registered domain, URIs of keys that are away, or of
-- keys over a budget.
-- ARGV: operation ('count', 'give back' or 'forget'), most URIs of a domain, fill, most
-- URIs kept of those over budgets; then as for `add`.
-- count: one character per URI: S counted, now or before; D its domain's budget is
-- spent, R spent before. give back: the URIs were counted but not accepted. forget:
-- they were accepted, and are no longer kept. Each may be repeated: a worker may die
-- after counting a URI and before adding it.
local what, most_of_domain = ARGV[1], tonumber(ARGV[2])
local fill, most_over = tonumber(ARGV[3]), tonumber(ARGV[4])
local results = {}

local function count_one(key, place, fingerprint, item)
  if string.sub(item, 1, 1) == 'k' or has_mark('uri', fingerprint) then return 'S' end
  local domain, bucket = domain_of(key, place)
  local n = tonumber(redis.call('HGET', counts_of(bucket), domain .. ' a') or 0)
  if most_of_domain > 0 and n >= most_of_domain then
    return refuse('D', key, place, fingerprint, item, most_over)
  end
  set_mark('uri', fingerprint)
  redis.call('HINCRBY', counts_of(bucket), domain .. ' a', 1)
  return 'S'
end

local function give_back(key, place, fingerprint)
  if drop_mark('uri', fingerprint) then
    local domain, bucket = domain_of(key, place)
    redis.call('HINCRBY', counts_of(bucket), domain .. ' a', -1)
  end
  return '1'
end

local function do_one(...)
  if what == 'count' then return count_one(...) end
  if what == 'give back' then return give_back(...) end
  forget_over(...)
  return '1'
end

open_seen()
local i = 5
while i <= #ARGV do
  local key, place, n = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  for at = i + 3, i + 2 + 2 * n, 2 do
    results[#results + 1] = do_one(key, place, ARGV[at], ARGV[at + 1])
  end
  i = i + 3 + 2 * n
end
close_seen(0, fill)
return table.concat(results)
