/** Which slices of a trace are waits of a trainer: in ours and DFTracer's, and of a PyTorch DataLoader in torch.profiler's. */
export function isWait({ cat, name }: { cat: string; name: string }): boolean {
  return (cat === 'dataloader' && name === 'fetch') || /^enumerate\(DataLoader\)#.*__next__$/.test(name)
}
