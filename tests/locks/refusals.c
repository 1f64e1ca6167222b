/*
 * The host has a write transaction on a database of its own, and ratelite refuses that file again
 * and again: the transaction's locks must stay.
 *
 *     refusals DATABASE TIMES ratelite|close
 *
 * With `close` the host opens and closes the file instead: then the locks go, which shows that
 * this program would see it.
 */
#include "attack.h"

/* A process of its own that asks for the write lock on demand. */
struct asker {
    int question, answer;
};

static void answer_questions(const char *path, int question, int answer)
{
    char byte;
    while (read(question, &byte, 1) == 1) {
        sqlite3 *database;
        CHECK(sqlite3_open(path, &database) == SQLITE_OK);
        byte = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        sqlite3_close(database);
        CHECK(write(answer, &byte, 1) == 1);
    }
    _exit(0);
}

static struct asker start_asker(const char *path)
{
    int question[2], answer[2];
    CHECK(pipe(question) == 0 && pipe(answer) == 0);
    if (fork() == 0) {
        close(question[1]);
        answer_questions(path, question[0], answer[1]);
    }
    close(question[0]);
    return (struct asker){question[1], answer[0]};
}

static int ask(struct asker asker)
{
    char code;
    CHECK(write(asker.question, "", 1) == 1 && read(asker.answer, &code, 1) == 1);
    return code;
}

int main(int count, char **words)
{
    CHECK(count == 4);
    alarm(60);
    const char *path = words[1];
    struct asker asker = start_asker(path);
    sqlite3 *database = host_open(path);
    CHECK(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    int before = ask(asker), descriptors = count_descriptors();

    for (int time = 0; time < atoi(words[2]); time++) {
        if (strcmp(words[3], "close") == 0) {
            close(open(path, O_RDWR));
        } else {
            rl_limiter *limiter;
            CHECK(rl_open(path, POLICY, NULL, &limiter) == RL_ENOTSTORE);
        }
    }
    int during = ask(asker);
    descriptors = count_descriptors() - descriptors;
    int commit = sqlite3_exec(database, "INSERT INTO notes VALUES (2); COMMIT", NULL, NULL, NULL);
    printf("before=%d during=%d commit=%d descriptors=%d\n", before, during, commit, descriptors);
    return 0;
}
