"""S2MAD: who scores comments, who argues, who judges (Breaking Event Rumor Detection …, 2024)."""
