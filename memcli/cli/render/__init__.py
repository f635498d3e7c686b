"""Records → Rich renderables. A renderer never prints, reads the store or decides; what it shows is cleaned."""
