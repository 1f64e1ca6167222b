
-- A question: nothing is written.
return answer
