-- What the scripts of hits, questions and refunds begin with: the time, and where each limit's
-- counter stands.
--
-- This is written once for a rule of any number of limits: what stands between "for each limit" and
-- "end" is there once for each, `@` being its number, from 1, and `@n` how many there are. So the
-- server runs plain local variables, in half the time that tables take.
--
-- KEYS[1]  a hash: the counters of one client under one rule. A field is "<window code>:<start>", the
--          code being the length in milliseconds, 0 for a month; its value "<attempts> <admitted>"
-- ARGV[1]  the time in milliseconds; -1: this server's clock, read here, where everybody's calls are
--          in one order
-- ARGV[2]  units: what a hit costs, what a refund gives back
-- then two for each limit: window code, N
-- then, as far as they are needed, the start and the end of the month, and what hit.lua says
--
-- Numbers are doubles, exact to 2^53: no counter is larger, and a sum that is rounded is beyond it.

local MAX_UNITS = 9007199254740991
-- Below this, numbers may be written by the quicker '%d' even where a server counts in 32 bits.
local NARROW = 2147483648
local call, format, key = redis.call, string.format, KEYS[1]

local clock = call('TIME')
local server_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
local now, units = ARGV[1] + 0, ARGV[2] + 0
local is_given = now >= 0
if not is_given then now = server_ms end

-- for each limit
local start@, ends@ = nil, nil
if ARGV[2 * @ + 1] ~= '0' then
  -- The caller cannot foretell a window of a millisecond, so this line of arithmetic is here too.
  start@ = now - now % ARGV[2 * @ + 1]
  ends@ = start@ + ARGV[2 * @ + 1]
else
  start@, ends@ = ARGV[2 * @n + 3] + 0, ARGV[2 * @n + 4] + 0
  -- The caller guessed another month. Nothing is done: it asks again, knowing the time.
  if now < start@ or now >= ends@ then return {now} end
end
-- end

-- The answer is the time, then attempts and admitted of each limit as they were before.
local answer, some_new = {now, 0, 0}, false
-- for each limit
local field@ = format('%s:%.0f', ARGV[2 * @ + 1], start@)
local attempts@, admitted@, is_there@ = 0, 0, call('HGET', key, field@)
if is_there@ then
  local asked, given = string.match(is_there@, '^(%d+) (%d+)$')
  if not asked or asked + 0 > MAX_UNITS or given + 0 > MAX_UNITS then
    return redis.error_reply('DAMAGED a counter is not two numbers')
  end
  attempts@, admitted@ = asked + 0, given + 0
else
  some_new = true
end
answer[2 * @], answer[2 * @ + 1] = attempts@, admitted@
-- end
