/** How much room the page has now; phones are turned, and windows change their width. */
import { useEffect, useState } from 'preact/hooks'
import { phoneWidth } from './rem.ts'

/** Room for what is chosen beside its list. */
const wideWidth = '(min-width: 68.75em)'

/** Whether the page has one column. */
export function usePhone(): boolean {
  return useMedia(phoneWidth)
}

export function useWide(): boolean {
  return useMedia(wideWidth)
}

function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const width = matchMedia(query)
    const onChange = () => setMatches(width.matches)
    onChange()
    width.addEventListener('change', onChange)
    return () => width.removeEventListener('change', onChange)
  }, [])
  return matches
}
