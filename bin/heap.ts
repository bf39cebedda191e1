/**
 * The heap, in MiB, of a thread that reads lines of exports: a line has a whole trace, far larger than a request may
 * be.
 */
export const RESTORE_HEAP_MIB = 4096
