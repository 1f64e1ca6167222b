-- Forgets a client under a rule: every window, of whatever policy. Says how many counters went.
local counters = redis.call('HLEN', KEYS[1])
redis.call('DEL', KEYS[1])
return counters
