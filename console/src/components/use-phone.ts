/** How much room the page has now; phones are turned, and windows change their width. */
import { useEffect, useState } from 'preact/hooks'
import { phoneWidth } from './text.tsx'

/** Whether the page has one column. */
export const usePhone = () => useMedia(phoneWidth)

/** Whether there is room for what is chosen beside its list. */
export const useWide = () => useMedia('(min-width: 68.75em)')

function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const width = matchMedia(query)
    const onChange = () => setMatches(width.matches)
    width.addEventListener('change', onChange)
    return () => width.removeEventListener('change', onChange)
  }, [])
  return matches
}
