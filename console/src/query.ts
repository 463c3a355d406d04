/** Filters, tabs and choices of a screen: values of the query in its address. */
import { formatQuery, type Query, useNavigate } from './address.ts'

/** Replaces values of the query in the address of the page. */
export function useQueryChange(): (changes: Query) => void {
  const navigate = useNavigate()
  return (changes) => {
    const query = Object.fromEntries(new URLSearchParams(location.search))
    navigate(location.pathname + formatQuery({ ...query, ...changes }), true)
  }
}
