
-- A refund: counters that are there give back, down to nothing spent; none is made.
-- for each limit
if is_there@ then
  admitted@ = math.max(admitted@ - units, 0)
  call('HSET', key, field@, format(attempts@ < NARROW and '%d %d' or '%.0f %.0f', attempts@, admitted@))
end
-- end
return answer
