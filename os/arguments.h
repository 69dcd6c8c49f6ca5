#ifndef OS_ARGUMENTS_H
#define OS_ARGUMENTS_H

/* The program's arguments as UTF-8, on Windows too, where main() gets them in a code page that
   cannot hold every file name. Call it early in main, before argv is looked at. */

/* Replaces *argc and *argv by their UTF-8 forms (WTF-8 for lone surrogates), which live as long as
   the process; POSIX: leaves them alone. 0, or ERR_INTERNAL with both unchanged. */
int os_arguments_utf8(int *argc, char ***argv);

#endif
