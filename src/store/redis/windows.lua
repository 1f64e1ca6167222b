-- What the scripts of hits, questions and refunds begin with: the time, and where each limit's
-- counter stands.
--
-- KEYS[1]  a hash: the counters of one client under one rule. A field is "<window code>:<start>", the
--          code being the length in milliseconds, 0 for a month; its value "<attempts> <admitted>".
-- ARGV[1]  the time in milliseconds; -1: this server's clock, read here, where everybody's calls are
--          in one order
-- ARGV[2]  units: what a hit costs, what a refund gives back
-- ARGV[3], ARGV[4], ARGV[5]  see hit.lua
-- then five for each limit: window code, N, and of a month its start, its end, and when it expires
--
-- Numbers are doubles, exact to 2^53: no counter is larger, and a sum that is rounded is beyond it.

local MAX_UNITS = 9007199254740991
local FIRST_LIMIT, A_LIMIT = 6, 5

local clock = redis.call('TIME')
local server_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local now, units = tonumber(ARGV[1]), tonumber(ARGV[2])
local is_given = now >= 0
if not is_given then now = server_ms end

local fields, limits, starts = {}, {}, {}
local expires_ms, longest_ms = 0, 0
for at = FIRST_LIMIT, #ARGV, A_LIMIT do
  local code, start = tonumber(ARGV[at]), tonumber(ARGV[at + 2])
  local finish, expires = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  if code > 0 then
    -- The caller cannot foretell a window of a millisecond, so this line of arithmetic is here too.
    start = now - now % code
    expires = start + 2 * code
  elseif now < start or now >= finish then
    -- The caller guessed another month. Nothing is done: it asks again, knowing the time.
    return {now}
  end
  fields[#fields + 1] = string.format('%.0f:%.0f', code, start)
  limits[#limits + 1] = tonumber(ARGV[at + 1])
  starts[#starts + 1] = start
  expires_ms = math.max(expires_ms, expires)
  longest_ms = math.max(longest_ms, expires - start)
end

-- The answer is the time, then attempts and admitted of each limit as they were before.
local answer, attempts, admitted = {now}, {}, {}
local is_there, some_new = {}, false
for i, value in ipairs(redis.call('HMGET', KEYS[1], unpack(fields))) do
  local asked, given = 0, 0
  if value then
    asked, given = string.match(value, '^(%d+) (%d+)$')
    asked, given = tonumber(asked), tonumber(given)
    if not asked or asked > MAX_UNITS or given > MAX_UNITS then
      return redis.error_reply('DAMAGED a counter is not two numbers')
    end
  else
    some_new = true
  end
  is_there[i], attempts[i], admitted[i] = value, asked, given
  answer[2 * i], answer[2 * i + 1] = asked, given
end

local function written(i)
  return string.format('%.0f %.0f', attempts[i], admitted[i])
end
