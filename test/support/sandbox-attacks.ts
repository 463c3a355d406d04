/** What a program in the sandbox of builds, bakes and commands tries on its neighbours and on Fairlead; each line fails if it succeeds. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from './wait-until.ts'

/** Variable of the neighbour, which has a file `victim.txt` in its folder. */
export const neighbour = { NEIGHBOUR: 'value-of-the-neighbour' }
const leftMarker = 'LEFT-BEHIND'

export function sandboxAttacks(dataDir: string) {
  const instances = join(dataDir, 'instances')
  const places = [dataDir, instances, '/usr', '/etc']
  const attacks: Readonly<Record<string, string>> = {
    environments: `cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep "^NEIGHBOUR=" && exit 1`,
    folders: `find '${instances}' -name victim.txt | grep . && exit 1`,
    links: `ln -s '${dataDir}' out; ls out/backends.db /proc/1/root'${dataDir}/backends.db' /proc/*/cwd/../../../backends.db && exit 1`,
    caches: `ls '${dataDir}'/*-caches | grep -v ':$' | grep -vx "$(basename "\${XDG_CACHE_HOME:-}")" | grep . && exit 1`,
    data: `find '${dataDir}' -name '*.db*' -o -name '*.key' -o -name '*.sock' | grep . && exit 1`,
    sockets: `find / -xdev -type s 2>/dev/null | grep . && exit 1; ls -A /run | grep . && exit 1`,
    processes: `kill -9 ${process.pid} 2>/dev/null && exit 1`,
    // What is above the working folder is memory of the sandbox.
    writes: `for place in ${places.map((place) => `'${place}'`).join(' ')}; do echo x > $place/intruder || :; done 2>/dev/null`,
  }
  return {
    steps: [
      ...Object.entries(attacks).map(([name, line]) => `${line}; echo "${name}: nothing"`),
      `setsid env -i ${leftMarker}=1 sleep 600 >/dev/null 2>&1 & sleep 0.2`,
    ],
    async assertHeld(log: string) {
      for (const name of Object.keys(attacks)) assert.ok(log.includes(`${name}: nothing`), log)
      for (const place of places) assert.ok(!existsSync(join(place, 'intruder')), place)
      const left = () =>
        readdirSync('/proc').filter(
          (pid) => /^\d+$/.test(pid) && environmentOf(pid).startsWith(`${leftMarker}=`),
        )
      await waitFor(() => left().length === 0 || undefined, 'the end of what was left behind')
    },
  }
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch {
    return ''
  }
}
