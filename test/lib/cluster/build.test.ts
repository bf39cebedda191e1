/** A failed build of Citus (test/cluster/citus.ts) reports what is missing. */
import t from 'tap'
import { describeMissing } from '../../cluster/missing.ts'

t.test('missing build dependencies are named with their packages', t => {
  for (const [output, said] of [
    [
      'src/x.c:3:10: fatal error: gssapi/gssapi.h: No such file or directory\ncompilation terminated.',
      'gssapi/gssapi.h (Debian: libkrb5-dev) is missing'
    ],
    ['/usr/bin/ld: cannot find -lselinux: No such file', 'selinux (Debian: libselinux1-dev) is missing'],
    ['./autogen.sh: line 9: autoreconf: command not found', 'autoreconf (Debian: autoconf) is missing'],
    ['configure: error: lz4 library not found\nIf you have lz4 installed', 'lz4 (Debian: liblz4-dev) is missing'],
    [
      'a.c:1:10: fatal error: zstd.h: No such file or directory\nld: cannot find -lodd',
      'zstd.h (Debian: libzstd-dev), odd are missing'
    ]
  ] as const) {
    t.equal(describeMissing(output), said)
  }
  t.equal(describeMissing('make: *** [Makefile:3: all] Error 2'), undefined)
  t.end()
})
