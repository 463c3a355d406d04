/** How applications stand, read when it is first asked for. */
import { useEffect, useState } from 'preact/hooks'
import { useSettled } from '../components/kept.tsx'
import type { Standing } from '../model/standings.ts'
import { useLive } from './live.ts'

const pauseMs = 150

/** @param choose Applications to read, by what is known; the code that reads server groups is loaded with the first answer. */
export function useStandings(
  choose: (known: ReadonlyMap<string, Standing>) => readonly string[],
): ReadonlyMap<string, Standing> {
  const [known, setKnown] = useState<ReadonlyMap<string, Standing>>(new Map())
  const asked = useSettled(choose(known).join(), pauseMs)
  const query = asked === '' ? undefined : { query: { applications: asked.split(',') } }
  const { body } = useLive('/serverGroups', query, 'open')
  useEffect(() => {
    if (body === undefined) return
    let isCurrent = true
    const add = ({ standingsOf }: typeof import('../model/standings.ts')) => {
      if (isCurrent)
        setKnown((before) => new Map([...before, ...standingsOf(body, asked.split(','))]))
    }
    // Without it, the search has no states and offers no rollback.
    import('../model/standings.ts').then(add, () => {})
    return () => {
      isCurrent = false
    }
  }, [asked, body])
  return known
}
