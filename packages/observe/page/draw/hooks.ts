/** What components need of the browser: a width, and time that goes on. */
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useState } from 'preact/hooks'
import { THEME_CHANGED } from '../state/theme.js'

/** The width of an element (px), now and when it changes. */
export function useWidth(ref: RefObject<Element | null>, first: number): number {
  const [width, setWidth] = useState(first)
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return
    const measure = () => setWidth(Math.max(80, Math.floor(element.getBoundingClientRect().width)))
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return width
}

/** Draws again every so often (ms): ages grow without news. */
export function useTick(every: number): void {
  const [, tick] = useReducer((n: number, _: null) => n + 1, 0)
  useEffect(() => {
    const timer = setInterval(() => tick(null), every)
    return () => clearInterval(timer)
  }, [every])
}

/** Draws again when light turns to dark. */
export function useTheme(): number {
  const [n, again] = useReducer((n: number, _: null) => n + 1, 0)
  useEffect(() => {
    const change = () => again(null)
    addEventListener(THEME_CHANGED, change)
    return () => removeEventListener(THEME_CHANGED, change)
  }, [])
  return n
}
