/*
 * Opens a store, hits once, and says with which code and words.
 *
 *     open STORE
 */
#include "attack.h"

int main(int count, char **words)
{
    CHECK(count == 2);
    alarm(20);
    rl_limiter *limiter;
    rl_result result;
    int code = rl_open(words[1], POLICY, NULL, &limiter);
    if (code == RL_OK)
        code = rl_hit(limiter, NULL, "k", 1, 1, RL_NOW, &result);
    printf("code=%d %s\n", code, rl_last_error());
    rl_close(limiter);
    return 0;
}
