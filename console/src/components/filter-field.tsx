/** A filter that lives in the address, so that a link shows the same. */
import { useLocation } from 'preact-iso/router'
import { formatQuery } from '../address.ts'
import { words } from '../words.ts'

/** Replaces values of the query in the address of the page. */
export function useQueryChange(): (changes: Readonly<Record<string, string | undefined>>) => void {
  const { path, query, route } = useLocation()
  return (changes) => route(path + formatQuery({ ...query, ...changes }), true)
}

export function FilterField({
  name = 'q',
  value,
  label = words.filter,
}: {
  name?: string
  value: string | undefined
  label?: string
}) {
  const change = useQueryChange()
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={value ?? ''}
      onInput={(event) => change({ [name]: event.currentTarget.value || undefined })}
    />
  )
}
