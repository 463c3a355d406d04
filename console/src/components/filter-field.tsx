/** A filter that lives in the address, so that a link shows the same. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { formatQuery } from '../address.ts'
import { Button } from './button.tsx'
import { useSteady } from './kept.tsx'
import { EmptyState } from './states.tsx'

/** Replaces values of the query in the address of the page. */
export function useQueryChange(): (changes: Readonly<Record<string, string | undefined>>) => void {
  const { path, query, route } = useLocation()
  return (changes) => route(path + formatQuery({ ...query, ...changes }), true)
}

interface FilterFieldProps {
  readonly name?: string
  readonly value: string | undefined
  readonly label?: string
  /** The server filters: it is asked when the reader has paused. */
  readonly isAsked?: boolean
}

/** How long a reader pauses before the server is asked. */
const pauseMs = 350

export function FilterField({ name = 'q', value, label = 'Filter', isAsked = false }: FilterFieldProps) {
  const change = useQueryChange()
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const apply = useSteady((text: string) => {
    clearTimeout(timer.current)
    setTyped(undefined)
    change({ ...(isAsked && firstPage), [name]: text || undefined })
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  const onInput = ({ currentTarget: { value: text } }: { readonly currentTarget: HTMLInputElement }) => {
    if (!isAsked) return apply(text)
    setTyped(text)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => apply(text), pauseMs)
  }
  return <input type="search" aria-label={label} placeholder={label} value={typed ?? value ?? ''} onInput={onInput} />
}

/** Another filter begins at the newest. */
export const firstPage = { start: undefined, before: undefined }

interface FilterSelectProps {
  /** The name in the query. */
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  /** Values and their words. */
  readonly options: readonly (readonly [value: string, text: string])[]
  /** What leaves all, or is usual. */
  readonly any: string
  /** Offered from so many options on; usually one is no choice. */
  readonly leastOptions?: number
  /** Further values of the query that belong to the former choice. */
  readonly clears?: readonly string[]
}

/** Absent where there is nothing to choose. */
export function FilterSelect({ name, label, value, options, any, leastOptions = 2, clears = [] }: FilterSelectProps) {
  const change = useQueryChange()
  const cleared = Object.fromEntries(clears.map((other) => [other, undefined]))
  if (options.length < leastOptions && value === undefined) return null
  const isKnown = value === undefined || options.some(([option]) => option === value)
  return (
    <select
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => change({ ...cleared, ...firstPage, [name]: event.currentTarget.value || undefined })}
    >
      <option value="">{any}</option>
      {!isKnown && <option value={value}>{value}</option>}
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  )
}

interface NoMatchProps {
  /** Names the filter. */
  readonly text: string
  /** Values of the query that are the filter. */
  readonly filters?: readonly string[]
}

/** Instead of a list that the filter leaves empty. */
export function NoMatch({ text, filters = ['q'] }: NoMatchProps) {
  const change = useQueryChange()
  return (
    <EmptyState icon="search" text={text}>
      <Button onClick={() => change(Object.fromEntries(filters.map((name) => [name, undefined])))}>Clear filters</Button>
    </EmptyState>
  )
}
