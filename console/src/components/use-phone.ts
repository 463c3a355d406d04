/** Whether the page has one column now; phones are turned, and windows change their width. */
import { useEffect, useState } from 'preact/hooks'
import { phoneWidth } from './rem.ts'

export function usePhone(): boolean {
  const [isPhone, setPhone] = useState(() => matchMedia(phoneWidth).matches)
  useEffect(() => {
    const width = matchMedia(phoneWidth)
    const onChange = () => setPhone(width.matches)
    onChange()
    width.addEventListener('change', onChange)
    return () => width.removeEventListener('change', onChange)
  }, [])
  return isPhone
}
