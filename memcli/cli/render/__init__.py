"""Records → Rich renderables. A renderer never prints, reads the store or decides anything; what it shows is cleaned."""
