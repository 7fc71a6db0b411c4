// How a reader likes the wall, before it is painted: nothing moves afterwards.
try {
  for (const name of ['size', 'fit']) {
    const liked = localStorage.getItem(`wall-${name}`)
    if (liked) document.documentElement.dataset[name] = liked
  }
} catch {
  // A browser that keeps nothing shows the wall as it comes.
}
